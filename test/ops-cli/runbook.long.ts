import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSandbox, type Sandbox } from '../../apps/sandbox/src/sandbox';
import { type CliWorld, startCliWorld } from '../support/cli-world';
import { holdMoney } from '../support/hold-money';
import { insertOrders } from '../support/insert-orders';
import { WEBHOOK_SECRET } from '../support/app';
import { lastcall } from '../support/lastcall';

const ROOT = join(__dirname, '..', '..');
/** Pages that tell an operator what to type. */
const PAGES = ['docs/runbook.md', 'docs/operations.md'];

interface Step {
  readonly line: string;
  readonly args: readonly string[];
  /** 0, and what the comment beside it says. */
  readonly exitCodes: readonly number[];
}

/** Every `npx lastcall` of the fenced bash blocks. */
function stepsOf(page: string): Step[] {
  const blocks = [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^```bash\n([^]*?)^```/gm)];
  return blocks.flatMap(([, block = '']) =>
    block
      .split('\n')
      .filter((line) => line.startsWith('npx lastcall '))
      .map((line) => {
        const [command = '', comment = ''] = line.split(/\s+# /);
        const words = command.match(/"[^"]*"|\S+/g) ?? [];
        const args = words.slice(2).map((word) => word.replace(/^"(.*)"$/, '$1'));
        const other = /exit code (\d+)/.exec(comment)?.[1];
        return { line, args, exitCodes: [0, ...(other ? [Number(other)] : [])] };
      }),
  );
}

/** Every statement in its sentences, with numbers where the reader fills them in. */
function statementsOf(page: string): string[] {
  const found = readFileSync(join(ROOT, page), 'utf8').matchAll(/`((?:SELECT|DELETE) [^`]+)`/g);
  return [...found].map(([, statement = '']) => statement.replaceAll(/\b[AB]\b/g, '903'));
}

/** An installation in which something of everything is wrong, and nobody works on it. */
async function troubles({ sql }: CliWorld) {
  const place = async (payment?: 'open') => {
    const [order] = await insertOrders(sql, { count: 1, closesInMs: -90_000, ...{ payment } });
    return order as NonNullable<typeof order>;
  };
  return {
    ENDPOINT_ID: async () => {
      const id = randomUUID();
      await sql.rows(
        `INSERT INTO webhook_endpoints (id, url, events, secret, from_tx, status, status_reason)
         VALUES ($1, 'https://shop.invalid/', '{*}', 'whsec_' || encode(sha256('x'), 'base64'), '0', 'off',
                 'it answered 410 Gone')`,
        [id],
      );
      return id;
    },
    ORDER_ID: async () => (await place()).id,
    REFUND_ID: async () => {
      const [order] = await insertOrders(sql, { count: 1, closesInMs: 600_000, payment: 'failed' });
      const id = randomUUID();
      await sql.rows(
        `INSERT INTO refunds (id, payment_id, reason, amount, currency, status, attempt, error)
         VALUES ($1, $2, 'late_payment', 500, 'EUR', 'needs_attention', 3, 'card blocked')`,
        [id, order?.paymentId],
      );
      return id;
    },
    PAYMENT_ID: async () => {
      const { paymentId } = await place('open');
      await holdMoney(sql, paymentId, 499, 'amount_mismatch');
      return paymentId as string;
    },
    WEBHOOK_ID: async () => {
      const id = randomUUID();
      await sql.rows(
        `INSERT INTO webhook_events (id, provider, event_id, notice, status, result, processed_at)
         VALUES ($1, 'sandbox', gen_random_uuid()::text, '{"type": "payment.succeeded"}', 'held', 'unknown_reference',
                 now())`,
        [id],
      );
      return id;
    },
    SUBJECT_ID: async () => {
      const { id } = await place();
      await sql.rows(
        `WITH taken AS (DELETE FROM deadlines WHERE subject_id = $1 RETURNING *)
         INSERT INTO held_deadlines (kind, subject_id, due_at, version, failures, error)
         SELECT kind, subject_id, due_at, version, 8, 'TypeError: poisoned' FROM taken`,
        [id],
      );
      return id;
    },
  } as const;
}

describe('the commands that the runbook and the operations page tell', () => {
  let world: CliWorld;
  let sandbox: Sandbox;

  beforeAll(async () => {
    sandbox = await startSandbox({
      port: 0,
      dataFolder: null,
      webhookSecret: WEBHOOK_SECRET,
      webhookUrl: 'http://127.0.0.1:1/',
    });
    world = await startCliWorld({ settings: { SANDBOX_URL: sandbox.url } });
  });
  afterAll(async () => {
    await world?.close();
    await sandbox?.close();
  });

  it('end as told, where something of everything is wrong', async () => {
    // What several sections tell is run once: each takes a part of a second.
    const steps = [
      ...new Map(PAGES.flatMap(stepsOf).map((step) => [step.args.join(' '), step])).values(),
    ];
    expect(steps.length).toBeGreaterThan(15);
    const subjects = await troubles(world);
    for (const make of Object.values(subjects)) await make();
    const commands: string[][] = [];
    for (const { args } of steps) {
      const filled = args.map(async (arg) =>
        arg in subjects ? subjects[arg as keyof typeof subjects]() : arg,
      );
      commands.push(await Promise.all(filled));
    }
    const outcomes = await Promise.all(
      commands.map(async (args) => ({ args, ...(await lastcall(world.config, args)) })),
    );
    const wrong = outcomes.filter(({ code }, i) => !steps[i]?.exitCodes.includes(code));
    expect(wrong).toEqual([]);
  }, 120_000);

  it('stand beside statements that Postgres takes', async () => {
    const statements = PAGES.flatMap(statementsOf);
    expect(statements.length).toBeGreaterThan(1);
    for (const statement of statements) await world.sql.rows(statement);
  });
});
