import type { QueryRunner } from 'typeorm';

/** A function of the migrations before this one, with a part of its text that has to be there replaced. */
export async function changeFunction(
  runner: QueryRunner,
  signature: string,
  before: string,
  after: string,
): Promise<void> {
  await runner.query(`
    DO $do$
    DECLARE def text := pg_get_functiondef('${signature}'::regprocedure);
    BEGIN
      IF position($b$${before}$b$ IN def) = 0 THEN RAISE EXCEPTION '${signature} has changed'; END IF;
      EXECUTE replace(def, $b$${before}$b$, $b$${after}$b$);
    END $do$`);
}
