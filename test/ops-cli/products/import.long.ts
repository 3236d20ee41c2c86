import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { runInvariants } from '@app/orders';
import { type CliWorld, startCliWorld } from '../../support/cli-world';
import { lastcall, lastcallJson } from '../../support/lastcall';
import { ownFolder } from '../../support/own-folder';
import { slowness } from '../../support/slowness';

jest.setTimeout(240_000);

const PRODUCTS = 100_000;
/** A shop that changes all its prices should not stand still for longer than a customer waits. */
const MOST_MS = 30_000;
const folder = ownFolder();

function fileOf(price: (n: number) => number, lastLine?: string): string {
  const lines = Array.from(
    { length: PRODUCTS },
    (_, n) => `P-${n},Product ${n},${price(n)},EUR,50`,
  );
  if (lastLine) lines[PRODUCTS - 1] = lastLine;
  const file = join(folder, `${randomUUID()}.csv`);
  writeFileSync(file, `sku,name,unitPrice,currency,stock\n${lines.join('\n')}\n`);
  return file;
}

interface Outcome {
  created: number;
  updated: number;
  restocked: number;
  unchanged: number;
  tookMs: number;
}

describe('lastcall products import of 100,000', () => {
  let world: CliWorld;
  beforeAll(async () => (world = await startCliWorld()));
  afterAll(() => world?.close());

  const args = (file: string, ...more: string[]) => {
    return ['products', 'import', file, '--reason', 'list', ...more];
  };
  const run = async (file: string, ...more: string[]): Promise<Outcome> => {
    const { code, result } = await lastcallJson<Outcome>(world.config, args(file, ...more));
    expect(code).toBe(0);
    process.stdout.write(`${more.join(' ')}: ${JSON.stringify(result)}\n`);
    return result;
  };
  const pricesOf = () =>
    world.rows<{ price: string; n: number }>(
      `SELECT min(unit_price) AS price, count(*)::int AS n FROM products WHERE sku LIKE 'P-%'
        GROUP BY unit_price`,
    );
  const place = async (): Promise<number> => {
    const sku = `P-${Math.floor(Math.random() * PRODUCTS)}`;
    const { status } = await world.request('POST /v1/orders', {
      token: await world.token({ sub: randomUUID() }),
      headers: { 'idempotency-key': randomUUID() },
      body: { items: [{ sku, quantity: 1 }] },
    });
    return status;
  };

  it('tells what would change, changes it at once or not at all, and lets orders go on', async () => {
    const file = fileOf(() => 100);
    expect(await run(file, '--dry-run')).toMatchObject({ created: PRODUCTS });
    expect(await pricesOf()).toEqual([]);
    const first = await run(file, '--yes');
    expect(first).toMatchObject({ created: PRODUCTS, updated: 0 });
    expect(first.tookMs).toBeLessThan(MOST_MS * slowness());
    expect(await pricesOf()).toEqual([{ price: '100', n: PRODUCTS }]);

    const wrong = await lastcall(
      world.config,
      args(
        fileOf(() => 300, 'P-1,,1,EUR,1'),
        '--yes',
      ),
    );
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain(`line ${PRODUCTS + 1}: sku "P-1" stands in line 3 already`);
    expect(await pricesOf()).toEqual([{ price: '100', n: PRODUCTS }]);

    // Orders beside an import of new prices for everything.
    let isRunning = true;
    const statuses: number[] = [];
    const ordering = (async () => {
      while (isRunning) statuses.push(...(await Promise.all([place(), place(), place()])));
    })();
    const second = await run(
      fileOf(() => 200),
      '--yes',
    );
    isRunning = false;
    await ordering;
    expect(second).toMatchObject({ created: 0, updated: PRODUCTS });
    expect(new Set(statuses.filter((status) => status !== 201 && status !== 503))).toEqual(
      new Set(),
    );
    expect(statuses).toContain(201);
    expect(await pricesOf()).toEqual([{ price: '200', n: PRODUCTS }]);
    // The prices of orders are those of before or after, and nothing between.
    const paid = await world.rows('SELECT DISTINCT unit_price FROM order_items ORDER BY 1');
    expect([['100'], ['100', '200'], ['200']]).toContainEqual(
      paid.map((row) => (row as { unit_price: string }).unit_price),
    );
    const results = await runInvariants(world.sql, { limitMs: 60_000, newest: 'all' });
    expect(results.find(({ id }) => id === 7)?.violations).toBe(0);
    expect(
      (
        await run(
          fileOf(() => 200),
          '--yes',
        )
      ).created,
    ).toBe(0);
  });

  it('leaves nothing half when it is interrupted', async () => {
    const file = fileOf((n) => 1_000 + n);
    // A neighbour holds a product of its middle, until the command has said that it stops.
    const neighbour = world.dataSource.createQueryRunner();
    await neighbour.startTransaction();
    await neighbour.query(`SET LOCAL idle_in_transaction_session_timeout = 0`);
    await neighbour.query(`SELECT FROM products WHERE sku = $1 FOR UPDATE`, [`P-${PRODUCTS / 2}`]);
    let released: Promise<void> | undefined;
    // It waits for as long as the neighbour takes, also where this machine stands still meanwhile.
    const patient = new URL(world.config.DATABASE_URL);
    patient.searchParams.set('options', '-c lock_timeout=0');
    const { code, stderr } = await lastcall(world.config, args(file, '--yes'), {
      env: { DATABASE_URL: patient.href },
      interrupt: { when: importWaits(), signal: 'SIGINT' },
      onStderr: (text) => {
        if (text.includes('Stopping')) released ??= neighbour.commitTransaction();
      },
    });
    await released;
    await neighbour.release();
    expect(code).toBe(130);
    expect(stderr).toContain('nothing was changed');
    expect(await pricesOf()).toEqual([{ price: '200', n: PRODUCTS }]);
  });

  /** Resolves when the import waits for a row that another holds. */
  async function importWaits(): Promise<void> {
    for (;;) {
      const [waiting] = await world.rows(
        `SELECT FROM pg_stat_activity
          WHERE application_name = 'lastcall import' AND wait_event_type = 'Lock'`,
      );
      if (waiting) return;
      await setImmediate();
    }
  }
});
