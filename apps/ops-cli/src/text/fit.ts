import stringWidth from 'string-width';

/** What must be whole to be of use: ids and instants are copied from a table into a command. */
const WHOLE = /^(-|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[\d.,:TZ -]+( [A-Z]{3})?)$/;
const NARROWEST = 10;
const COLOURS = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, 'g');

/** As instant.ts writes it on a terminal. */
const WITH_DISTANCE = /^\S+Z \((.+)\)$/;

/** Where room is scarce: how far off an instant is, without the instant itself. */
export function shortened(text: string): string {
  return WITH_DISTANCE.exec(text.replace(COLOURS, ''))?.[1] ?? text;
}

/** As many columns of a terminal as each takes: colours take none, and wide characters two. */
export function naturalWidths(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
): number[] {
  return titles.map((title, i) =>
    Math.max(title.length, ...rows.map((row) => stringWidth(row[i] ?? ''))),
  );
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
  const columns = naturalWidths(titles, rows).map((width, i) => {
    const title = titles[i] ?? '';
    const isWhole = rows.every((row) => WHOLE.test((row[i] ?? '').replace(COLOURS, '')));
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
