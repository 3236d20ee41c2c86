import { createReadStream } from 'node:fs';
import type { LineComplaint, ProductLine } from '@app/orders';
import { CsvError, parse } from 'csv-parse';
import { CommandFailure, usageFailure } from './command-failure';
import { EXIT } from './exit-code';

const COLUMNS = ['sku', 'name', 'unitPrice', 'currency'] as const;
const OPTIONAL = 'stock';
/** A million lines are a few hundred megabytes here; more are several files. */
const MAX_LINES = 1_000_000;
const MAX_LINE_LENGTH = 10_000;
/** What stands for bytes that are no character, as the ü of an encoding of old. */
const UNREADABLE = '\ufffd';

interface CsvRecord {
  readonly record: Readonly<Record<string, string>>;
  readonly info: { readonly lines: number };
}

export interface ProductFile {
  readonly lines: readonly ProductLine[];
  /** What cannot be read, or is no number where one is asked for; what else a product must be is asked of the core. */
  readonly complaints: readonly LineComplaint[];
}

/** @throws {CommandFailure} usage: the file cannot be read, is no CSV, or has other columns */
export async function readProductFile(file: string): Promise<ProductFile> {
  const lines: ProductLine[] = [];
  const complaints: LineComplaint[] = [];
  const input = file === '-' ? process.stdin : createReadStream(file);
  const parser = parse({
    columns: (header: string[]) => checkHeader(file, header),
    ...{ bom: true, info: true, trim: true, skip_empty_lines: true, encoding: 'utf8' },
    max_record_size: MAX_LINE_LENGTH,
  });
  input.once('error', (error: Error) => parser.destroy(error));
  try {
    for await (const { record, info } of input.pipe(parser) as AsyncIterable<CsvRecord>) {
      if (lines.length === MAX_LINES)
        throw usageFailure(`${file} has more than ${MAX_LINES} lines`);
      const { product, wrong } = productOf(record);
      lines.push({ line: info.lines, ...product });
      complaints.push(...wrong.map((message) => ({ line: info.lines, message })));
    }
  } catch (error) {
    throw explained(file, error);
  }
  if (lines.length === 0) throw usageFailure(`${file} has no products`);
  return { lines, complaints };
}

/** @throws {CommandFailure} usage, after every complaint was told */
export function refuseWrongLines(
  complaints: readonly LineComplaint[],
  tell: (line: string) => void,
): void {
  if (complaints.length === 0) return;
  const sorted = [...complaints].sort((a, b) => a.line - b.line);
  const shown = sorted.slice(0, MAX_SHOWN);
  for (const { line, message } of shown) tell(`line ${line}: ${message}`);
  if (sorted.length > shown.length) tell(`... and ${sorted.length - shown.length} more`);
  const wrong = new Set(sorted.map(({ line }) => line)).size;
  throw new CommandFailure({
    code: 'wrong_lines',
    exitCode: EXIT.usage,
    what: wrong === 1 ? '1 line is wrong' : `${wrong} lines are wrong`,
    why: 'a file is taken in as a whole; nothing was changed',
    next: 'mend these lines, then try again with --dry-run',
    fields: { complaints: shown },
  });
}

/** More than a person mends by hand before looking again. */
const MAX_SHOWN = 50;

function checkHeader(file: string, header: string[]): string[] {
  const missing = COLUMNS.filter((name) => !header.includes(name));
  const known: readonly string[] = [...COLUMNS, OPTIONAL];
  const unknown = header.filter((name, i) => !known.includes(name) || header.indexOf(name) !== i);
  if (missing.length === 0 && unknown.length === 0) return header;
  const what = missing.length > 0 ? `lacks ${missing.join(', ')}` : `has ${unknown.join(', ')}`;
  throw usageFailure(
    `The first line of ${file} ${what}`,
    `its columns are ${COLUMNS.join(',')} and, where wanted, ${OPTIONAL}, with commas between them`,
  );
}

function productOf(record: Readonly<Record<string, string>>): {
  product: Omit<ProductLine, 'line'>;
  wrong: string[];
} {
  const wrong = Object.entries(record)
    .filter(([, text]) => text.includes(UNREADABLE))
    .map(([column, text]) => `${column} "${text}" is not UTF-8: save it as "CSV UTF-8"`);
  const number = (name: string): number => {
    const text = record[name] ?? '';
    if (/^\d{1,15}$/.test(text)) return Number(text);
    wrong.push(`${name} "${text}" is not a whole number`);
    return 0;
  };
  const { sku = '', name = '', currency = '', stock = '' } = record;
  const unitPrice = number('unitPrice');
  const available = stock === '' ? undefined : number(OPTIONAL);
  return { product: { sku, name, unitPrice, currency, available }, wrong };
}

function explained(file: string, error: unknown): Error {
  if (error instanceof CommandFailure) return error;
  if (error instanceof CsvError) return usageFailure(`${file} is no CSV: ${error.message}`);
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined
    ? (error as Error)
    : usageFailure(`${file} cannot be read (${code})`, 'check the path');
}
