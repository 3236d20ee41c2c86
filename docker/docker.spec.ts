import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, normalize } from 'node:path';
import { Script } from 'node:vm';
import { SETTING_NAMES } from '@app/orders';
import { readConfig } from '../apps/sandbox/src/config';

// No container engine is needed here: what can be wrong in a Dockerfile and a compose file without
// one being there to say so are names of files, commands and settings.

const project = join(__dirname, '..');
const read = (path: string): string => readFileSync(join(project, path), 'utf8');

// Nest's OpenAPI module parses YAML, and so do we with what it brings.
// Version 1.1 is the one with merge keys (`<<`), which Compose understands as well.
const { load, YAML11_SCHEMA } = createRequire(require.resolve('@nestjs/swagger'))('js-yaml') as {
  load(text: string, options: { schema: unknown }): unknown;
  YAML11_SCHEMA: unknown;
};

interface Service {
  readonly image?: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: object;
  readonly restart?: string;
}

const compose = load(read('docker/compose.yaml'), { schema: YAML11_SCHEMA }) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
};
const services = Object.entries(compose.services);
const own = services.filter(([, { image }]) => image === 'lastcall');

const instructions = read('docker/Dockerfile')
  .replace(/\\\n/g, ' ')
  .split('\n')
  .filter((line) => line.trim() !== '' && !line.startsWith('#'))
  .map((line) => /^(\w+)\s+(.*)$/.exec(line) as unknown as [string, string, string])
  .map(([, name, rest]) => ({ name, rest }));

/** The source whose build a path in `dist` is. */
const sourceOf = (built: string): string => built.replace(/^dist\//, '').replace(/\.js$/, '.ts');

const allowedIntoTheBuild = read('.dockerignore')
  .split('\n')
  .filter((line) => line.startsWith('!'))
  .map((line) => line.slice(1));

describe('Dockerfile', () => {
  it('has instructions only', () => {
    const known = 'FROM WORKDIR COPY RUN ENV USER EXPOSE HEALTHCHECK CMD'.split(' ');
    expect(instructions.map(({ name }) => name).filter((name) => !known.includes(name))).toEqual(
      [],
    );
  });

  it('copies what exists, and what .dockerignore lets in', () => {
    const sources = instructions
      .filter(({ name, rest }) => name === 'COPY' && !rest.startsWith('--from'))
      .flatMap(({ rest }) => rest.split(/\s+/).slice(0, -1));
    expect(sources.filter((path) => !existsSync(join(project, path)))).toEqual([]);
    expect(
      sources.filter(
        (path) => !allowedIntoTheBuild.some((root) => `${path}/`.startsWith(`${root}/`)),
      ),
    ).toEqual([]);
    expect(allowedIntoTheBuild.filter((path) => !existsSync(join(project, path)))).toEqual([]);
  });

  it('copies from stages it has', () => {
    const stages = instructions.flatMap(({ rest }) => / AS (\w+)$/.exec(rest)?.[1] ?? []);
    const used = instructions.flatMap(({ rest }) => /^--from=(\w+)/.exec(rest)?.[1] ?? []);
    expect(used).not.toEqual([]);
    expect(used.filter((stage) => !stages.includes(stage))).toEqual([]);
  });

  it('runs the scripts that package.json has, and the programs that are built', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const run = instructions.flatMap(({ rest }) => /npm run (\S+)/.exec(rest)?.[1] ?? []);
    expect(run).toEqual(['build']);
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(run));
    const [command] = instructions.filter(({ name }) => name === 'CMD').slice(-1);
    const [, entry] = JSON.parse(command?.rest ?? '[]') as string[];
    expect(existsSync(join(project, sourceOf(entry ?? '')))).toBe(true);
  });

  it('installs the command line where package.json says it is', () => {
    const { bin } = JSON.parse(read('package.json')) as { bin: Record<string, string> };
    expect(read('docker/Dockerfile')).toContain(`/app/${bin['lastcall']} /usr/local/bin/lastcall`);
  });

  it('does not run as root', () => {
    const last = instructions.map(({ name }) => name).lastIndexOf('FROM');
    expect(instructions.slice(last).find(({ name }) => name === 'USER')?.rest).toBe('node');
  });

  it('says whether it is healthy', () => {
    const check = instructions.find(({ name }) => name === 'HEALTHCHECK')?.rest ?? '';
    const [, , script] = JSON.parse(check.slice(check.indexOf('['))) as string[];
    expect(() => new Script(script ?? '(')).not.toThrow();
    expect(script).toContain('/health/live');
  });
});

describe('compose.yaml', () => {
  it('has all parts of an installation', () => {
    expect(services.map(([name]) => name).sort()).toEqual(
      ['api', 'migrate', 'postgres', 'redis', 'sandbox', 'worker'].sort(),
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
    const entries = own.flatMap(([, { command }]) => command?.[1] ?? []);
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

  it('asks only for secrets that example.env lists', () => {
    const asked = [...read('docker/compose.yaml').matchAll(/\$\{(\w+)/g)].map(([, name]) => name);
    const listed = [...read('docker/example.env').matchAll(/^(\w+)=/gm)].map(([, name]) => name);
    expect([...new Set(asked)].sort()).toEqual(listed.sort());
  });

  it('publishes ports to this machine only', () => {
    const ports = services.flatMap(([, service]) => service.ports ?? []);
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  });

  it('keeps data in volumes it declares', () => {
    const used = services
      .flatMap(([, service]) => service.volumes ?? [])
      .map((volume) => volume.split(':')[0]);
    expect(used.sort()).toEqual(Object.keys(compose.volumes).sort());
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

  it('keeps what Redis was told, and refuses rather than evicts', () => {
    const command = compose.services['redis']?.command?.join(' ');
    expect(command).toContain('--appendonly yes');
    expect(command).toContain('--maxmemory-policy noeviction');
  });
});
