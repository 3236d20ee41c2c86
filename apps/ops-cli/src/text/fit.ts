/** What must be whole to be of use: ids and instants are copied from a table into a command. */
const WHOLE = /^(-|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[\d.,:TZ -]+( [A-Z]{3})?)$/;
const NARROWEST = 10;
const COLOURS = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, 'g');

/** As many columns of a terminal as the text takes: colours take none. */
export function shownWidth(text: string): number {
  return [...text.replace(COLOURS, '')].length;
}

/**
 * The widths that make a table fit, the widest columns of words cut first; `undefined` when what has
 * to be whole is too wide already.
 */
export function fittedWidths(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  limit: number,
): number[] | undefined {
  const columns = titles.map((title, i) => {
    const cells = rows.map((row) => row[i] ?? '');
    const width = Math.max(title.length, ...cells.map(shownWidth));
    const isWhole = cells.every((cell) => WHOLE.test(cell.replace(COLOURS, '')));
    return { width, least: isWhole ? width : Math.min(width, Math.max(title.length, NARROWEST)) };
  });
  for (let excess = sum(columns.map(({ width }) => width)) - limit; excess > 0; excess--) {
    const [widest] = columns
      .filter(({ width, least }) => width > least)
      .sort((a, b) => b.width - a.width);
    if (!widest) return undefined;
    widest.width -= 1;
  }
  return columns.map(({ width }) => width);
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
