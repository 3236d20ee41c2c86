import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { Client } from 'pg';
import { migrateDatabase } from '../../apps/api/src/migrate-database';
import { token } from '../support/app';
import { type ApiProcess, startApiProcess } from '../support/api-process';
import { asMigrating, createTestDatabase, type TestDatabase } from '../support/database';
import { takeRedisDatabase } from '../support/redis';
import { startStopwatch } from '../support/stopwatch';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy';
import { until } from '../support/until';

/** Of apps/api/src/shut-down.ts. */
const NOTICE_MS = 800;
const ORDER = JSON.stringify({ items: [{ sku: 'TEA-SENCHA', quantity: 1 }] });

/** As `localhost` is, or whatever is reached by IPv6 and IPv4. */
const BY_SEVERAL_NUMBERS = `
  import dns from 'node:dns';
  const numbers = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }));
  dns.lookup = (name, options, done) => done(null, numbers);
`;
const SEVERAL_ADDRESSES = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(BY_SEVERAL_NUMBERS)}`,
};

// Every test starts a process or more, which takes seconds on a busy machine.
jest.setTimeout(120_000);

describe('the process', () => {
  let database: TestDatabase;
  let postgres: TcpProxy;
  let settings: Record<string, string>;
  let started: ApiProcess[] = [];

  const start = (more: Record<string, string> = {}, script = 'main'): ApiProcess => {
    const api = startApiProcess({ ...settings, ...more }, script);
    started.push(api);
    return api;
  };
  const headersOf = async (key: string) => ({
    authorization: `Bearer ${await token()}`,
    'content-type': 'application/json',
    'idempotency-key': key,
  });
  const place = async (url: string, key: string): Promise<Response> =>
    fetch(`${url}/v1/orders`, { method: 'POST', headers: await headersOf(key), body: ORDER });
  /** One that is under way: it has been told to go on, and its body is waited for. */
  const begin = async (url: string, key: string): Promise<ClientRequest> => {
    const expects = { expect: '100-continue', 'content-length': ORDER.length };
    const headers = { ...(await headersOf(key)), ...expects };
    const placing = request(`${url}/v1/orders`, { method: 'POST', headers });
    placing.flushHeaders();
    await once(placing, 'continue');
    return placing;
  };

  beforeAll(async () => {
    database = await createTestDatabase();
    postgres = await startTcpProxy(database.appUrl);
    settings = { DATABASE_URL: postgres.url, REDIS_URL: await takeRedisDatabase() };
    await migrateDatabase(asMigrating(database.url), { seed: true });
  });
  afterEach(async () => {
    await Promise.all(started.map((api) => api.stop()));
    started = [];
  });
  afterAll(async () => {
    await postgres?.close();
    await database?.drop();
  });

  it('migrates an empty database once, though two try at the same time', async () => {
    const empty = await createTestDatabase();
    const migrate = () => start({ DATABASE_URL: empty.url }, 'migrate').ended;
    const [first, second] = await Promise.all([migrate(), migrate()]);
    expect([first, second]).toMatchObject([{ code: 0 }, { code: 0 }]);
    const lines = [first.stdout, second.stdout].sort();
    expect(lines[0]).toBe('Migrations: nothing to run\n');
    expect(lines[1]).toMatch(/^Migrations: ran \w+(, \w+)*\n$/);
    // What is sold is the shop's own: only npm start, which tries things out, gives it a start.
    const client = new Client({ connectionString: empty.url });
    await client.connect();
    expect((await client.query('SELECT FROM products')).rowCount).toBe(0);
    await client.end();
    await empty.drop();
  });

  describe('on tables of another version', () => {
    const MINE = 'StoppedKinds1764160000000';
    const NEWER = 'OfANewerVersion1999999999999';
    const renamed = async (from: string, to: string): Promise<void> => {
      const client = new Client({ connectionString: database.url });
      await client.connect();
      await client.query('UPDATE lastcall.lastcall_migrations SET name = $2 WHERE name = $1', [
        from,
        to,
      ]);
      await client.end();
    };
    beforeAll(() => renamed(MINE, NEWER));
    afterAll(() => renamed(NEWER, MINE));

    it('starts, and says in its log which migrations are missing, and which it does not know', async () => {
      const api = start();
      await api.listening;
      await api.stop();
      const { stdout } = await api.ended;
      const lines = stdout.split('\n').filter((line) => /missing|unknown/.test(line));
      expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
        { level: 'error', missing: [MINE], msg: expect.stringContaining('migrate.js') as string },
        { level: 'warn', unknown: [NEWER], msg: expect.stringContaining('newer') as string },
      ]);
    });
  });

  it('migrates with no more than where the tables are to be', async () => {
    const NOTHING = { AUTH_JWT_SECRET: '', SANDBOX_WEBHOOK_SECRET: '', SANDBOX_URL: '' };
    const others = { PAYMENT_PROVIDERS: 'stripe', TIMER_DRIVER: 'bullmq', REDIS_URL: '' };
    const migrated = await start(
      { ...NOTHING, ...others, PORT: 'eighty', DATABASE_URL: database.url },
      'migrate',
    ).ended;
    expect(migrated).toMatchObject({ code: 0, stdout: 'Migrations: nothing to run\n' });
    const elsewhere = await start({ DATABASE_SCHEMA: 'pg catalog' }, 'migrate').ended;
    expect(elsewhere).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('DATABASE_SCHEMA') as string,
    });
    // Whoever serves needs them as before.
    const serving = await start({ ...NOTHING, ...others }).ended;
    expect(serving.code).toBe(1);
    for (const name of ['AUTH_JWT_SECRET', 'STRIPE_SECRET_KEY', 'REDIS_URL'])
      expect(serving.stderr).toContain(name);
  });

  it('names every wrong setting, and does not start', async () => {
    const wrong = { PORT: 'eighty', PAYMENT_WINDOW: 'soon', AUTH_JWT_SECRET: 'short' };
    const [{ code, stdout, stderr }, migrating] = await Promise.all([
      start(wrong).ended,
      start({ DATABASE_URL: 'x' }, 'migrate').ended,
    ]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    for (const name of ['PORT', 'PAYMENT_WINDOW', 'AUTH_JWT_SECRET'])
      expect(stderr).toContain(name);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(migrating.code).toBe(2);
  });

  it('lets nothing that it quotes act on the terminal', async () => {
    const red = new URL(database.url);
    red.pathname = '/%1B[31mred';
    const [settings, server, migrating] = await Promise.all([
      start({ ROLES: '\u001b[31mapi' }).ended,
      start({ DATABASE_URL: red.href }).ended,
      start({ DATABASE_URL: red.href }, 'migrate').ended,
    ]);
    for (const { stderr } of [settings, server, migrating]) {
      expect(stderr).toContain('\\u001b[31m');
      expect(stderr).not.toMatch(/[^\P{Cc}\n]/u);
    }
  });

  it('says why it cannot start, in a line', async () => {
    const nowhere = await start({ DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/x' }).ended;
    expect(nowhere.code).toBe(1);
    expect(nowhere.stderr).toMatch(/^lastcall cannot start: .*DATABASE_URL.*ECONNREFUSED/m);
    expect(nowhere.stderr + nowhere.stdout).not.toContain('hunter2');
    const nameless = await start({ DATABASE_URL: 'postgres://u:p@db.invalid/x' }).ended;
    expect(nameless.stderr).toMatch(/^lastcall cannot start: .*DATABASE_URL.*db\.invalid/m);
    const several = { ...SEVERAL_ADDRESSES, DATABASE_URL: 'postgres://u:p@db.invalid:1/x' };
    const programs = [start(several), start(several, 'migrate')];
    for (const { stderr } of await Promise.all(programs.map(({ ended }) => ended))) {
      expect(stderr).toContain(
        'connect ECONNREFUSED 127.0.0.1:1; connect ECONNREFUSED 127.0.0.2:1',
      );
    }
    const unmigrated = await start({ DATABASE_SCHEMA: 'elsewhere' }).ended;
    expect(unmigrated.code).toBe(1);
    expect(unmigrated.stderr).toMatch(
      /^lastcall cannot start: The schema "elsewhere" .*migrate\.js.*DATABASE_SCHEMA/m,
    );
    // An address of documentation (RFC 5737), which no machine has.
    const elsewhere = await start({ HOST: '192.0.2.1' }).ended;
    expect(elsewhere.code).toBe(1);
    expect(elsewhere.stderr).toMatch(/^lastcall cannot start: HOST .*EADDRNOTAVAIL/m);
  });

  it('finishes what is under way when it is told to stop, and takes nothing new', async () => {
    const api = start({ SHUTDOWN_NOTICE: `${NOTICE_MS}ms` });
    const url = await api.listening;
    // For longer than anything within would be waited for: this machine may stand still meanwhile.
    const placing = await begin(url, 'under-way');
    const toldAtMs = performance.now();
    api.child.kill('SIGTERM');
    api.child.kill('SIGINT');
    await untilRefused(url);
    // Balancers have had time to see that it is not ready (what it says then: health.e2e.ts).
    // Node's timers count by whole milliseconds.
    expect(performance.now() - toldAtMs).toBeGreaterThan(NOTICE_MS - 1);
    placing.end(ORDER);
    const [answer] = (await once(placing, 'response')) as [IncomingMessage];
    answer.resume();
    expect([answer.statusCode, answer.headers.connection]).toEqual([201, 'close']);
    const { code, stdout, stderr } = await api.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('"msg":"stopped"');
    expect(stdout.match(/shutting down/g)).toHaveLength(1);
  });

  describe('that is there to stay', () => {
    let api: ApiProcess;
    let url: string;
    beforeAll(async () => {
      api = startApiProcess(settings);
      url = await api.listening;
    });
    afterAll(() => api?.stop());

    it('leaves its port to nobody, and the other says so in a line', async () => {
      const second = await start({ PORT: new URL(url).port }).ended;
      expect(second.code).toBe(1);
      expect(second.stderr).toMatch(/^lastcall cannot start: PORT is taken.*EADDRINUSE/m);
    });

    it('answers 503, and fast, while Postgres is away; and recovers by itself', async () => {
      expect((await place(url, 'before')).status).toBe(201);
      await postgres.cut();
      try {
        const tookMs = startStopwatch();
        const answers = [
          await place(url, 'meanwhile'),
          await fetch(`${url}/v1/products`),
          await fetch(`${url}/health/ready`),
        ];
        for (const answer of answers) {
          expect(answer.status).toBe(503);
          expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
          expect(await answer.json()).toMatchObject({ status: 503, code: 'unavailable' });
        }
        expect((await fetch(`${url}/health/live`)).status).toBe(200);
        const metrics = await fetch(`${url}/metrics`, {
          headers: { authorization: `Bearer ${await token({ scope: 'ops' })}` },
        });
        expect(await metrics.text()).toMatch(/^lastcall_overdue_deadlines NaN$/im);
        expect(tookMs()).toBeLessThan(5_000);
      } finally {
        await postgres.restore();
      }
      await until('it is ready', async () => (await fetch(`${url}/health/ready`)).status === 200);
      expect((await place(url, 'after')).status).toBe(201);
    });

    it('serves the documentation to everybody', async () => {
      const page = await fetch(`${url}/`);
      expect({ status: page.status, url: page.url }).toEqual({ status: 200, url: `${url}/docs` });
      expect(await page.text()).toContain('swagger-ui');
      expect((await fetch(`${url}/docs/swagger-ui.css`)).status).toBe(200);
      const missing = await fetch(`${url}/docs/nothing.js`);
      expect(missing.status).toBe(404);
      expect(missing.headers.get('content-type')).toContain('application/problem+json');
    });
  });
});

const untilRefused = (url: string) =>
  until('new connections are refused', () =>
    fetch(`${url}/health/live`).then(
      () => false,
      () => true,
    ),
  );
