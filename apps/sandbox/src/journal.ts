import { mkdir, open, rename, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Dispute, Payment, Refund } from './payment';
import type { WebhookEvent } from './webhook-event';

/** A row as it is from now on: the last record of an id wins. */
export type JournalRecord =
  { payment: Payment } | { refund: Refund } | { dispute: Dispute } | { event: WebhookEvent };

export interface Journal {
  /** The records of one change, kept all or none. Resolves when they would survive the process. */
  append(records: readonly JournalRecord[]): Promise<void>;
  /** Resolves when everything appended so far has been written. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

const FILE_NAME = 'ledger.jsonl';
const LINES_PER_WRITE = 1000;

/** What is wrong with the ledger of a folder, and how to mend it. */
export class LedgerError extends Error {}

export const noJournal: Journal = {
  append: () => Promise.resolve(),
  flush: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/**
 * Reads what the folder holds, writes it anew in its shortest form (so that the file does not
 * grow for ever), and appends from there on.
 */
export async function openJournal(
  folder: string,
  restore: (record: JournalRecord) => void,
  snapshot: () => Iterable<JournalRecord>,
): Promise<Journal> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, FILE_NAME);
  await replay(path, restore);

  const compactedPath = `${path}.new`;
  const compacted = await open(compactedPath, 'w', 0o600);
  try {
    let lines: string[] = [];
    for (const record of snapshot()) {
      lines.push(`${JSON.stringify([record])}\n`);
      if (lines.length === LINES_PER_WRITE) {
        await compacted.appendFile(lines.join(''));
        lines = [];
      }
    }
    await compacted.appendFile(lines.join(''));
    await compacted.datasync();
  } catch (cause) {
    const { message } = cause as Error;
    throw new LedgerError(`${compactedPath} cannot be written: ${message}`, { cause });
  } finally {
    await compacted.close();
  }
  await rename(compactedPath, path);
  return new FileJournal(await open(path, 'a', 0o600));
}

/** One write for all changes that came while the last write was under way. */
class FileJournal implements Journal {
  readonly #file: FileHandle;
  #lines: string[] = [];
  #writing: Promise<void> = Promise.resolve();
  #batch: Promise<void> | null = null;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  append(records: readonly JournalRecord[]): Promise<void> {
    this.#lines.push(`${JSON.stringify(records)}\n`);
    if (this.#batch === null) {
      // A failed write rejects this promise and all later ones: after it nothing is promised.
      this.#batch = this.#writing.then(() => this.#writeLines());
      this.#writing = this.#batch;
    }
    return this.#batch;
  }

  flush(): Promise<void> {
    return this.#writing;
  }

  async close(): Promise<void> {
    await this.#writing.finally(() => this.#file.close());
  }

  async #writeLines(): Promise<void> {
    const text = this.#lines.join('');
    this.#lines = [];
    this.#batch = null;
    try {
      await this.#file.appendFile(text);
    } catch (cause) {
      // Memory is now ahead of the disk. A ledger that cannot be kept must not go on answering.
      setImmediate(() => {
        throw new Error('the ledger cannot be written', { cause });
      });
      throw cause;
    }
  }
}

async function replay(path: string, restore: (record: JournalRecord) => void): Promise<void> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (file === null) return;

  let lineNumber = 0;
  let broken: { line: number; cause: unknown } | null = null;
  for await (const line of linesOf(file)) {
    lineNumber += 1;
    if (broken !== null) break;
    try {
      for (const record of JSON.parse(line) as JournalRecord[]) restore(record);
    } catch (cause) {
      broken = { line: lineNumber, cause };
    }
  }
  // The last line may be torn: the process died while writing it and told nobody about it.
  if (broken !== null && broken.line < lineNumber) {
    const mend = 'remove that line, or the file to begin with no payments';
    const { line, cause } = broken;
    throw new LedgerError(`${path} is damaged at line ${line}: ${mend}`, { cause });
  }
}

/** By line feeds alone: from Node 24 on readline ends lines where a name has U+2028, too, which JSON leaves as it is. */
async function* linesOf(file: FileHandle): AsyncGenerator<string> {
  let rest = '';
  const texts: AsyncIterable<string> = file.createReadStream({ encoding: 'utf8' });
  for await (const text of texts) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}
