import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { SETTING_NAMES } from '@app/orders';
import { Client } from 'pg';
import { migrateDatabase } from '../apps/api/src/migrate-database';
import { readConfig } from '../apps/sandbox/src/config';
import { testServers } from '../test/support/database';
import { compose } from './compose-file';
import { sourceOf } from './source-of';

// No container engine is needed here: what can be wrong in a compose file without one being there
// to say so are names of files, commands and settings.

/** Roles belong to the server: another test may have made it. */
const MAKE_APPLICATION_ROLE = `
  DO $$ BEGIN CREATE ROLE lastcall_app;
  EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`;

const project = join(__dirname, '..');
const read = (path: string): string => readFileSync(join(project, path), 'utf8');

const services = Object.entries(compose.services);
/** `${REDIS_IMAGE:-redis:7.4.7@sha256:…}`. */
const DIGEST = /^\$\{\w+_IMAGE:-\w+:\d+\.\d+(\.\d+)?@sha256:[0-9a-f]{64}\}$/;
const own = services.filter(([, { image }]) => image === 'lastcall');

describe('compose.yaml', () => {
  it('has all parts of an installation', () => {
    expect(services.map(([name]) => name).sort()).toEqual(
      ['api', 'lastcall', 'migrate', 'postgres', 'redis', 'sandbox', 'worker'].sort(),
    );
    expect(compose.services['api']?.environment?.['ROLES']).toBe('api');
    expect(compose.services['worker']?.environment?.['ROLES']).toBe('worker');
  });

  it('builds from a Dockerfile that exists', () => {
    const builds = services.flatMap(([, { build }]) => build ?? []);
    expect(builds).toHaveLength(1);
    for (const { context, dockerfile } of builds) {
      expect(existsSync(join(project, normalize(join('docker', context)), dockerfile))).toBe(true);
    }
  });

  it('runs programs that are built', () => {
    const programs = own.filter(([, { entrypoint }]) => entrypoint === undefined);
    const entries = programs.flatMap(([, { command }]) => command?.[1] ?? []);
    expect(entries).not.toEqual([]);
    expect(entries.filter((entry) => !existsSync(join(project, sourceOf(entry))))).toEqual([]);
  });

  it('names settings that exist', () => {
    const ofTheSandbox = [
      'SANDBOX_HOST',
      'SANDBOX_PORT',
      'SANDBOX_WEBHOOK_URL',
      'SANDBOX_WEBHOOK_SECRET',
      'SANDBOX_DATA',
    ];
    for (const [name, { environment = {} }] of own) {
      const known = name === 'sandbox' ? ofTheSandbox : SETTING_NAMES;
      expect(Object.keys(environment).filter((setting) => !known.includes(setting))).toEqual([]);
    }
    const sandbox = compose.services['sandbox']?.environment ?? {};
    const asText = Object.fromEntries(
      Object.entries(sandbox).map(([key, value]) => [key, String(value)]),
    );
    expect(
      readConfig({
        ...asText,
        SANDBOX_WEBHOOK_SECRET: 'whsec_YS13ZWJob29rLXNlY3JldC1mb3ItdGVzdHM=',
      }),
    ).toMatchObject({
      port: 3001,
    });
  });

  it('asks only for what example.env lists', () => {
    const asked = [...read('docker/compose.yaml').matchAll(/\$\{(\w+)/g)].map(([, name]) => name);
    const listed = [...read('docker/example.env').matchAll(/^(\w+)=/gm)].map(([, name]) => name);
    expect([...new Set(asked)].sort()).toEqual(listed.sort());
  });

  it('publishes the API, to this machine only, and lets no other out or in', () => {
    const ports = services.flatMap(([name, service]) =>
      (service.ports ?? []).map((port) => `${name} ${port}`),
    );
    expect(ports).toEqual(['api 127.0.0.1:3000:3000']);
    const open = services.filter(([, { networks = ['default'] }]) =>
      networks.some((network) => !compose.networks[network]?.internal),
    );
    expect(open.map(([name]) => name)).toEqual(['api', 'worker']);
  });

  it.each(services)('gives %s nothing it does not need, and no more than its share', (_, one) => {
    expect(one).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      mem_limit: expect.stringMatching(/^\d+[mg]$/),
      cpus: expect.anything(),
      pids_limit: expect.any(Number),
    });
    expect([one.cap_add, one.privileged]).toEqual([undefined, undefined]);
    // Ours is not root by its Dockerfile.
    if (one.image !== 'lastcall') expect(one.user).toMatch(/^(postgres|redis)$/);
  });

  it('can be told to take one core, where there is no other', () => {
    const shares = services.flatMap(([, { cpus }]) => cpus ?? []);
    expect([...new Set(shares)]).toEqual(['${CPUS:-2}', 1]);
  });

  it('takes images of others by version and digest, or others where one is given', () => {
    const others = services.flatMap(([, { image = '' }]) => (image === 'lastcall' ? [] : image));
    expect(others).toHaveLength(2);
    for (const image of others) expect(image).toMatch(DIGEST);
  });

  it('tells the owner of the tables, and the key of the seals, only to those who need it', () => {
    const knows = (secret: string) =>
      services
        .filter(([, { environment = {} }]) => JSON.stringify(environment).includes(`{${secret}:?`))
        .map(([name]) => name);
    expect(knows('OWNER_PASSWORD')).toEqual(['postgres', 'migrate']);
    expect(knows('POSTGRES_PASSWORD')).toEqual(['postgres']);
    expect(knows('AUTH_JWT_SECRET')).toEqual(['api', 'worker', 'lastcall']);
    expect(knows('HISTORY_SEAL_KEY')).toEqual(['worker', 'lastcall']);
    const urls = own.flatMap(([, { environment = {} }]) => environment['DATABASE_URL'] ?? []);
    expect(urls.filter((url) => /\/\/(postgres|lastcall):/.test(String(url)))).toEqual([]);
  });

  it('makes an owner and a user who can do what is theirs, and are no superusers', async () => {
    const suffix = randomBytes(4).toString('hex');
    const [owner, user, database] = ['owner', 'user', 'db'].map((what) => `${what}_${suffix}`);
    const script = /<<'SQL'\n([^]*?)^SQL$/m.exec(read('docker/postgres/roles.sh'))?.[1] ?? '';
    const statements = script
      .replace(/^\\getenv.*$/gm, '')
      .replace(/^CREATE ROLE lastcall_app .*$/m, '')
      .replaceAll(/:'(\w+)'/g, `'$1'`)
      .replaceAll('lastcall_owner', owner as string)
      .replaceAll('lastcall_user', user as string)
      .replaceAll(/DATABASE lastcall\b/g, `DATABASE ${database}`)
      .split(';\n');
    const server = new Client({ connectionString: testServers().databaseUrl });
    await server.connect();
    try {
      await server.query(MAKE_APPLICATION_ROLE);
      for (const sql of statements) await server.query(sql);
      const addressOf = (name: string, password: string) =>
        Object.assign(new URL(testServers().databaseUrl), {
          ...{ username: name, password, pathname: `/${database}` },
        }).href;
      const target = { DATABASE_URL: addressOf(owner as string, 'owner_password') };
      await migrateDatabase({ ...target, DATABASE_ROLE: 'lastcall_app' }, { seed: true });
      const application = new Client({
        connectionString: addressOf(user as string, 'app_password'),
        options: '-c search_path=lastcall',
      });
      await application.connect();
      const { rowCount } = await application.query('SELECT * FROM products');
      expect(rowCount).toBeGreaterThan(0);
      // `timeouts verify` and `doctor` compare alarms with deadlines in tables of their session's own.
      await application.query('CREATE TEMP TABLE alarms_found (id text)');
      await expect(application.query('DELETE FROM order_events')).rejects.toThrow(/permission/);
      await expect(application.query(`COPY products TO PROGRAM 'id'`)).rejects.toThrow(
        // Until Postgres 14: "must be superuser or a member of ...".
        /permission|must be superuser/,
      );
      await application.end();
      const { rows } = await server.query(
        'SELECT bool_or(rolsuper OR rolcreaterole OR rolcreatedb) AS mighty FROM pg_roles WHERE rolname = ANY ($1)',
        [[owner, user]],
      );
      expect(rows).toEqual([{ mighty: false }]);
    } finally {
      await server.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
      await server.query(`DROP ROLE IF EXISTS ${owner}`);
      await server.query(`DROP ROLE IF EXISTS ${user}`);
      await server.end();
    }
  });

  it('keeps data in volumes it declares', () => {
    const used = services
      .flatMap(([, service]) => service.volumes ?? [])
      .map((volume) => volume.split(':')[0] as string);
    const named = used.filter((volume) => !volume.startsWith('.'));
    expect(named.sort()).toEqual(Object.keys(compose.volumes).sort());
    const files = used.filter((volume) => volume.startsWith('.'));
    expect(files.filter((file) => !existsSync(join(project, 'docker', file)))).toEqual([]);
  });

  it('copies nothing into a container that nothing can be written to', () => {
    // Compose mounts a config that is a file, and copies others into the container it has made.
    const copied = services
      .filter(([, { read_only: readOnly }]) => readOnly)
      .flatMap(([name, { configs = [] }]) => configs.map(({ source }) => ({ name, source })))
      .filter(({ source }) => compose.configs?.[source]?.file === undefined);
    expect(copied).toEqual([]);
  });

  it('waits for what exists and can become healthy', () => {
    for (const [, { depends_on: needs = {} }] of services) {
      for (const [name, { condition }] of Object.entries(needs)) {
        const needed = compose.services[name];
        expect(needed).toBeDefined();
        if (condition === 'service_healthy') expect(needed?.healthcheck).toBeDefined();
        else expect(needed?.restart).toBe('no');
      }
    }
  });
});
