import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADVISORY_LOCKS } from './advisory-locks';

const ROOT = join(__dirname, '../../../..');
const CALL = /pg_(?:try_)?advisory_(?:xact_)?lock\(((?:[^()]|\([^()]*\))*)\)/g;

/** What is locked where, as the source says it. */
function locked(): { file: string; key: string }[] {
  return ['libs/orders/src', 'libs/timeout/src', 'apps/api/src', 'apps/ops-cli/src']
    .flatMap((folder) =>
      (readdirSync(join(ROOT, folder), { recursive: true }) as string[]).map((name) =>
        join(folder, name),
      ),
    )
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
    .sort()
    .flatMap((file) =>
      [...readFileSync(join(ROOT, file), 'utf8').matchAll(CALL)].map(([, key]) => ({
        file,
        key: key as string,
      })),
    );
}

it('gives each lock a key that no other has', () => {
  const keys = Object.values(ADVISORY_LOCKS);
  expect(new Set(keys).size).toBe(keys.length);
});

it('is where every key comes from that is locked anywhere', () => {
  const named = Object.keys(ADVISORY_LOCKS).map((name) => `\${ADVISORY_LOCKS.${name}}`);
  const keys = new Set<string>(Object.values(ADVISORY_LOCKS));
  const strange = locked().filter(({ file, key }) => {
    if (file.includes('libs/orders/src/migrations/')) return !keys.has(key);
    if (file.startsWith('libs/timeout/')) return false;
    return !named.some((one) => key === one || key === `${one}, k`);
  });
  expect(strange).toEqual([]);
  expect(locked().length).toBeGreaterThan(8);
});

it('shares with the timeouts what they are to share, and nothing else', () => {
  const keys = locked().filter(({ file }) => file.startsWith('libs/timeout/'));
  expect(keys).toEqual([
    {
      file: 'libs/timeout/src/batch-entry.ts',
      key: "hashtext('deadlines ' || current_schema || ' ' || $1), turn",
    },
    { file: 'libs/timeout/src/host/migrate-timeouts.ts', key: '$1' },
    { file: 'libs/timeout/src/shards/sweep-shards.ts', key: '${OPENING}' },
  ]);
  const written = (file: string, constant: RegExp): string | undefined =>
    constant
      .exec(readFileSync(join(ROOT, 'libs/timeout/src', file), 'utf8'))?.[1]
      ?.replaceAll('_', '');
  expect(written('host/migrate-timeouts.ts', /MIGRATION_LOCK = ([\d_]+);/)).toBe(
    ADVISORY_LOCKS.migrate,
  );
  expect(written('shards/sweep-shards.ts', /OPENING = '(\d+)';/)).toBe(ADVISORY_LOCKS.openSweep);
});
