import type { DataSource, QueryRunner } from 'typeorm';

/** How many statements, each on a connection of its own. */
export interface Statements {
  underWay: number;
  atOnce: number;
  ended: number;
}

/** The same database over connections that are counted; `ended` hears of each one's end, and holds it up. */
export function countStatements(
  real: DataSource,
  ended: (nth: number) => Promise<void> | void = () => undefined,
): { readonly dataSource: DataSource; readonly statements: Statements } {
  const statements = { underWay: 0, atOnce: 0, ended: 0 };
  const createQueryRunner = (): QueryRunner => {
    const runner = real.createQueryRunner();
    const release = runner.release.bind(runner);
    statements.underWay += 1;
    statements.atOnce = Math.max(statements.atOnce, statements.underWay);
    runner.release = async () => {
      await release();
      try {
        await ended(++statements.ended);
      } finally {
        statements.underWay -= 1;
      }
    };
    return runner;
  };
  return { dataSource: { createQueryRunner } as DataSource, statements };
}
