import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');
const COPIED = ['libs', 'test/support', 'test/closing', '.swcrc', 'package.json', 'tsconfig.json'];

/** Everything that a new kind of deadline touches. It thanks customers two weeks after completion. */
const EDITS = [
  {
    file: 'libs/orders/src/order/deadline-table.ts',
    before: '} as const satisfies Readonly<Record<string, DeadlineRule>>;',
    insert: `  thanks: {
    table: 'orders',
    status: 'completed',
    dueAt: "completed_at + receive_within_ms * interval '1 millisecond'",
    offWhenNull: 'receive_within_ms',
    putOffBy: null,
    version: 'version',
    stopsForBrake: false,
  },
`,
  },
  {
    file: 'libs/orders/src/settings/schema.ts',
    before: '  LOG_LEVEL: z.enum(',
    insert: `  THANKS_TEXT: z.string().prefault('Thank you'),\n`,
  },
  {
    file: 'libs/orders/src/invariants/invariants.sql',
    before: `'payment', 'closing', 'shipment', 'receipt', 'refund', 'webhook'`,
    insert: `'thanks', `,
  },
  {
    file: 'libs/orders/src/invariants/invariants.sql',
    before: `           WHEN status = 'shipped' AND receive_within_ms IS NOT NULL`,
    insert: `           WHEN status = 'completed' AND receive_within_ms IS NOT NULL THEN 'thanks'\n`,
  },
];

const HANDLER = {
  file: 'libs/orders/src/fulfilment/thanks.deadline.ts',
  source: `
import { type BatchResult, type DeadlineHandler, type DueDeadline, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { type Settings, SETTINGS } from '../config';
import { HandlesKind } from '../order/handles-kind';

@Injectable()
@HandlesKind('thanks')
export class ThanksDeadline implements DeadlineHandler {
  readonly maxBatch = 500;

  constructor(@Inject(SETTINGS) private readonly config: Settings) {}

  lockKey(): undefined {
    return undefined;
  }

  async handle(due: readonly DueDeadline[], tx: Transaction): Promise<BatchResult> {
    // Thanked once: what switches the deadline off is what says that it has passed.
    const thanked = await tx.rows(
      \`WITH done AS (
         UPDATE orders SET receive_within_ms = NULL WHERE id = ANY ($1::uuid[]) RETURNING id)
       INSERT INTO thanks (order_id, text) SELECT id, $2 FROM done RETURNING 1\`,
      [due.map(({ subjectId }) => subjectId), this.config.THANKS_TEXT],
    );
    return { changed: thanked.length, lost: due.length - thanked.length };
  }
}
`,
};

/** A copy of the sources with the new kind in it; answers with its folder. */
export function copyWithNewKind(): string {
  const copy = mkdtempSync(join(tmpdir(), 'lastcall-new-kind-'));
  for (const part of COPIED) cpSync(join(ROOT, part), join(copy, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  for (const { file, before, insert } of EDITS) {
    const source = readFileSync(join(copy, file), 'utf8');
    if (source.split(before).length !== 2) throw new Error(`Not once in ${file}: ${before}`);
    writeFileSync(
      join(copy, file),
      source.replace(before, () => insert + before),
    );
  }
  writeFileSync(join(copy, HANDLER.file), HANDLER.source);
  return copy;
}
