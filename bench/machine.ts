import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import type { Servers } from './world';

/** The packages that are measured, so that a figure can be told from its successor's. */
const PACKAGES = [
  'bullmq',
  'pg',
  'pg-boss',
  'graphile-worker',
  '@dbos-inc/dbos-sdk',
  'redlock',
  'fastify',
  'autocannon',
];

/** What the figures were measured on, a line each. */
export async function machine(
  { databaseUrl, redisUrl }: Servers,
  { rounds, cores }: { rounds: number; cores: number },
): Promise<string[]> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ version: string; settings: string }>(
    `SELECT split_part(version(), ' on ', 1) AS version,
            (SELECT string_agg(name || '=' || setting, ', ' ORDER BY name) FROM pg_settings
              WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes')) AS settings`,
  );
  await client.end();
  const redis = new Redis(redisUrl);
  const info = await redis.info('server');
  await redis.quit();
  const [cpu] = cpus();
  return [
    `${cores} cores of ${cpu?.model.trim() ?? 'an unknown processor'}, ${Math.round(totalmem() / 2 ** 30)} GB, Linux ${release()}`,
    `Node ${process.versions.node}, ${rows[0]?.version} (${rows[0]?.settings}), Redis ${/redis_version:(\S+)/.exec(info)?.[1]} (AOF)`,
    PACKAGES.map((name) => `${name} ${versionOf(name)}`).join(', '),
    `The load generator, Node, Postgres and Redis share these cores. Medians of ${rounds}, the ways taking turns.`,
    `Load average when the run ended: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(', ')}`,
  ];
}

function versionOf(name: string): string {
  const manifest = readFileSync(
    require.resolve(`${process.cwd()}/node_modules/${name}/package.json`),
  );
  return (JSON.parse(manifest.toString()) as { version: string }).version;
}
