import type { Engine } from './engine';
import { judgeByJest } from './run-jest';

interface Services {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly redisBinary: string;
  stop(): Promise<void>;
}

// eslint-disable-next-line @typescript-eslint/no-require-imports -- an ES module without types
const { oldestAreMissing, startOldest } = require('../../scripts/services/oldest.mjs') as {
  oldestAreMissing(): string | undefined;
  startOldest(say: (line: string) => void): Promise<Services>;
};

/** All that speaks to Postgres and Redis by itself, and whole lives of orders; CI has forty minutes. */
const TESTS = ['libs/', 'test/money/'];
/** Counts blocks that were read, which a session can be made to tell since Postgres 15. */
const NOT_BEFORE_15 = 'libs/timeout/src/brake/brake.spec.ts';

/** Packages are installed beside it, which takes what they leave. */
const TWO_WORKERS = '--maxWorkers=2';

/** The oldest servers that docs/operations.md allows: what we use may have come with newer ones. */
export const oldest: Engine = {
  name: 'oldest',
  judges: 'that Postgres 13 and Redis 6.2 will do, by the tests of `npm test` that use them',
  missing: oldestAreMissing,
  judge: async () => {
    const { databaseUrl, redisUrl, redisBinary, stop } = await startOldest(console.log);
    try {
      return await judgeByJest(
        [TWO_WORKERS, '--testPathIgnorePatterns', NOT_BEFORE_15, '--', ...TESTS],
        {
          TEST_DATABASE_URL: databaseUrl,
          TEST_REDIS_URL: redisUrl,
          TEST_REDIS_BIN: redisBinary,
        },
      );
    } finally {
      await stop();
    }
  },
};
