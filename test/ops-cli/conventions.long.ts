import type { StatisticsView } from '@app/orders';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../support/cli-world';
import { insertOrders } from '../support/insert-orders';
import { expectConventions, inFourWays, lastcall, lastcallJson } from '../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

/** Their order is that of the statuses. */
const ENDING = ['closing', 'completed', 'closed', 'canceled'];
const COMPLETED: [string[], string[]][] = [
  [['lastcall', 'ord'], ['orders']],
  [['lastcall', 'orders', 'set'], ['settle']],
  [['lastcall', 'orders', 'list', '--over'], ['--overdue']],
  [['lastcall', 'orders', 'list', '--limit', '5', '--status', 'c'], ENDING],
  [['lastcall', 'completion', 'f'], ['fish']],
  [['npx', 'lastcall', 'timeouts', 'res'], ['resume']],
  [['lastcall', 'webhook-endpoints', 'ad'], ['add']],
  [['lastcall', 'webhook-endpoints', 'remove', 'ID', '--y'], ['--yes']],
];

describe('lastcall', () => {
  let world: CliWorld;

  beforeAll(async () => (world = await startCliWorld()));
  afterAll(() => world.close());

  it.each([
    ['orders', 'lst', 'lastcall orders list'],
    ['order', 'list', 'lastcall orders list'],
    ['docter', '', 'lastcall doctor'],
    ['timeouts', 'backfil', 'lastcall timeouts backfill'],
    ['webhook-endpoints', 'remov', 'lastcall webhook-endpoints remove'],
  ])('knows what was meant by "%s %s"', async (topic, command, meant) => {
    const { code, stderr } = await lastcall(undefined, [topic, command].filter(Boolean));
    expect(code).toBe(2);
    expect(stderr).toContain(`did you mean "${meant}"?`);
  });

  it('says in JSON, too, that there is no such command', async () => {
    const { code, stdout } = await lastcall(undefined, ['nosuch', '--json']);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'usage', exitCode: 2 } });
  });

  it('helps without an installation', async () => {
    const { code, stdout } = await lastcall(undefined, ['--help']);
    expect(code).toBe(0);
    for (const word of ['orders', 'timeouts', 'refunds', 'webhooks', 'sweep', 'doctor', 'stats']) {
      expect(stdout).toContain(word);
    }
  });

  it.each([
    ['create', 'add'],
    ['delete', 'remove'],
  ])('helps with webhook-endpoints %s by its other name, %s', async (name, alias) => {
    // Alone: the process that has shown the help of a topic no longer knows its commands.
    const help = (...words: string[]) => lastcall(undefined, [...words, '--help'], { alone: true });
    const { stdout: list } = await help('webhook-endpoints');
    for (const word of [name, alias]) expect(list).toContain(`webhook-endpoints ${word} `);
    const { stdout: one } = await help('webhook-endpoints', alias);
    expect(one).toContain(`$ lastcall webhook-endpoints ${alias} `);
  });

  it.each([
    ['orders list', '/nonexistent'],
    ['orders list --home /nowhere', '/nowhere'],
    ['doctor --home /nowhere', '/nowhere'],
  ])('says how to begin when nothing runs: %s', async (command, home) => {
    const { code, stderr } = await lastcall(undefined, command.split(' '));
    expect(code).toBe(6);
    expect(stderr).toMatch(
      /DATABASE_URL is not set[^]+Why: [^]+--home[^]+Next: {2}set DATABASE_URL/,
    );
    expect(stderr).toContain(`in ${home}\n`);
    // A host's `npm start` starts the host.
    expect(stderr).not.toMatch(/npm start(?!.* project of lastcall)/);
  });

  it.each([
    ['stats', 0],
    ['console sessions', 0],
    ['webhook-endpoints list', 0],
    ['webhook-endpoints deliveries 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f', 3],
    ['customers export nobody', 3],
  ])('needs neither Redis nor a secret to look: %s', async (command, code) => {
    const env = { TIMER_DRIVER: 'bullmq', REDIS_URL: '', SANDBOX_WEBHOOK_SECRET: '' };
    expect(await lastcall(world.config, command.split(' '), { env })).toMatchObject({ code });
  });

  it('names a setting that is wrong', async () => {
    const env = { SWEEP_INTERVAL: 'often' };
    const { code, stderr } = await lastcall(world.config, ['orders', 'list'], { env });
    expect(code).toBe(2);
    expect(stderr).toContain('SWEEP_INTERVAL must be a duration');
  });

  it.each([
    ['orders cancel 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f', 3],
    ['timeouts release --all', 8],
  ])('names --dry-run only where a command has it: %s', async (command, code) => {
    const args = [...command.split(' '), '--reason', 'case 17'];
    const unasked = await lastcall(world.config, args);
    expect([unasked.code, unasked.stderr]).toEqual([
      code,
      expect.not.stringContaining('--dry-run'),
    ]);
    const rehearsed = await lastcall(world.config, [...args, '--dry-run']);
    expect(rehearsed.code).toBe(code === 8 ? 2 : code);
  });

  it('names what migrates, and the schema that may be wrong', async () => {
    const env = { DATABASE_SCHEMA: 'elsewhere' };
    const { code, stderr } = await lastcall(world.config, ['orders', 'list'], { env });
    expect(code).toBe(6);
    expect(stderr).toMatch(/Next: .*migrate\.js.*DATABASE_SCHEMA/);
  });

  it('says what is missing, where it is a right', async () => {
    await world.rows('REVOKE SELECT ON orders FROM lastcall_app');
    try {
      const { code, stderr } = await lastcall(world.config, ['orders', 'list'], { alone: true });
      expect([code, stderr]).toEqual([6, expect.stringMatching(/lacks a right[^]*migrate\.js/)]);
    } finally {
      await world.rows('GRANT SELECT ON orders TO lastcall_app');
    }
  });

  it('makes tokens that the API takes', async () => {
    const args = ['token', '--sub', 'ann', '--scope', 'orders'];
    const ways = await inFourWays(world.config, args);
    expectConventions(ways, 0);
    const token = ways.pipe.stdout.trim();
    expect((await world.request('GET /v1/orders', { token })).status).toBe(200);
    expect(JSON.parse(ways.json.stdout)).toMatchObject({ sub: 'ann', scope: 'orders' });
  });

  it.each([[''], ['a\u0007nn'], ['a'.repeat(201)]])(
    'makes no token that the API would refuse: --sub %j',
    async (sub) => {
      const args = ['token', '--sub', sub, '--scope', 'orders'];
      const { code, stdout, stderr } = await lastcall(world.config, args);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain('--sub must have 1 to 200 characters, none of them for control');
    },
  );

  it('shows figures that agree with the database, once or again and again', async () => {
    await insertOrders(world.sql, { count: 3, closesInMs: 55_000 });
    await insertOrders(world.sql, { count: 2, closesInMs: -30_000 });
    const ways = await inFourWays(world.config, ['stats']);
    expectConventions(ways, 0);
    const view = JSON.parse(ways.json.stdout) as StatisticsView;
    expect(view).toMatchObject({ open: { total: 5, dueIn1m: 5 }, overdueDeadlines: 2 });
    const watch = ['stats', '--watch', '--interval', '1', '--count', '2'];
    const { code, stdout } = await lastcall(world.config, [...watch, '--json']);
    // As --help has it: without --json it is tables.
    const { stdout: help } = await lastcall(undefined, ['stats', '--help'], { alone: true });
    expect(help.replace(/\s+/g, ' ')).toContain(
      'elsewhere than on a terminal one reading after the other, and with --json each',
    );
    expect((await lastcall(world.config, watch)).stdout.match(/^Unpaid orders/gm)).toHaveLength(2);
    expect(code).toBe(0);
    const lines = stdout.trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as StatisticsView).open.total)).toEqual([5, 5]);
  });

  it('gives the stack of what nobody thought of, as it says', async () => {
    const list = (env: Record<string, string>) =>
      lastcall(world.config, ['orders', 'list'], { env, alone: true });
    await world.rows('ALTER TABLE orders RENAME TO kept_orders');
    await world.rows(
      'CREATE VIEW orders AS SELECT * FROM kept_orders WHERE 1 / (length(id::text) - 36) = 1',
    );
    await world.rows('GRANT SELECT ON orders TO lastcall_app');
    try {
      const { code, stderr } = await list({});
      const [, DEBUG = ''] = /DEBUG=(\S+) for the stack/.exec(stderr) ?? [];
      expect([code, stderr]).toEqual([1, expect.not.stringMatching(/^ +at /m)]);
      expect((await list({ DEBUG })).stderr).toMatch(/division by zero[^]*^ +at .+\.js:\d+/m);
    } finally {
      await world.rows('DROP VIEW orders');
      await world.rows('ALTER TABLE kept_orders RENAME TO orders');
    }
  });

  it('watches in place on a terminal, until Ctrl-C', async () => {
    const reading = /Unpaid orders[^]*Ctrl-C ends/;
    const { code, stdout } = await lastcall(world.config, ['stats', '--watch', '--interval', '1'], {
      tty: true,
      interrupt: { when: new RegExp(`${reading.source}[^]*${reading.source}`), signal: 'SIGINT' },
    });
    expect(code).toBe(130);
    const [before, ...readings] = stdout.split('\u001b[H');
    expect(before).toBe('');
    expect(readings.length).toBeGreaterThanOrEqual(2);
    // What is left of the reading before is wiped, to the end of each line and of the screen.
    for (const one of readings) {
      expect(one).toMatch(reading);
      expect(one.replaceAll('\r', '')).toContain('\u001b[K\n\u001b[J');
    }
  });

  it('compares with the ledger, or says that the provider is away', async () => {
    const env = { SANDBOX_URL: 'http://127.0.0.1:1' };
    const args = ['reconcile', '--since', '7d'];
    const { code, result, stderr } = await lastcallJson(world.config, args, { env });
    expect({ code, result }).toMatchObject({
      code: 6,
      result: { error: { code: 'provider_error' } },
    });
    // A ledger of hours is not begun anew.
    const [, run = ''] = /Next: lastcall reconcile --resume ([0-9a-f-]{36})$/m.exec(stderr) ?? [];
    const again = await lastcallJson(world.config, ['reconcile', '--resume', run], { env });
    expect(again).toMatchObject({ code: 6, result: { error: { code: 'provider_error' } } });
    expect(again.stderr).toContain(`Next: lastcall reconcile --resume ${run}`);
    // One that settles is gone on with as that, and for the same reason.
    const fixing = [...args, '--fix', '--reason', "mia's case 9", '--actor', 'mia'];
    const { stderr: told } = await lastcallJson(world.config, fixing, { env });
    expect(told).toMatch(
      /Next: lastcall reconcile --resume [0-9a-f-]{36} --fix --reason 'mia'\\''s case 9' --actor mia$/m,
    );
  });

  it('completes what is typed in bash', async () => {
    const { stdout } = await lastcall(undefined, ['completion', 'bash']);
    const tries = COMPLETED.map(([words]) => {
      const complete = words[0] === 'npx' ? '_lastcall_npx' : '_lastcall_complete';
      return `COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}
        ${complete}; echo "\${COMPREPLY[@]}"`;
    });
    const script = `${stdout}\n${tries.join('\n')}`;
    const { stdout: printed } = await promisify(execFile)('bash', ['-c', script]);
    expect(printed.trim().split('\n')).toEqual(COMPLETED.map(([, words]) => words.join(' ')));
  });
});
