import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What is open at a provider when its customer is erased is asked after as ever, and what the provider says
 * then may be about the customer: whoever writes it down, an older version that still runs as well, writes
 * none of it. Few rows have words at all, so that few are looked at.
 */
export class WordsOfErasedCustomers1764137000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE FUNCTION keep_no_words_of_erased() RETURNS trigger LANGUAGE plpgsql AS $f$
      DECLARE
        is_erased boolean;
      BEGIN
        -- A statement of its own: where erasing was waited for, it sees what that has written.
        EXECUTE format(
          'SELECT EXISTS (SELECT FROM %1$I.orders o
                           WHERE o.id = coalesce($1, (SELECT order_id FROM %1$I.payments WHERE id = $2))
                             AND o.customer_id ~ ''^erased:[0-9a-f]{32}$'')', TG_TABLE_SCHEMA)
          INTO is_erased USING (to_jsonb(NEW) ->> 'order_id')::uuid, (to_jsonb(NEW) ->> 'payment_id')::uuid;
        IF NOT is_erased THEN RETURN NEW; END IF;
        CASE TG_TABLE_NAME
          WHEN 'payments' THEN
            NEW.error := NULL;
            NEW.failure := NULL;
            NEW.checkout_url := NULL;
          WHEN 'refunds' THEN NEW.error := NULL;
          ELSE NEW.reason := NULL;
        END CASE;
        RETURN NEW;
      END $f$`);
    for (const [, when] of TRIGGERS) {
      await runner.query(`
        CREATE TRIGGER keep_no_words BEFORE ${when}
          EXECUTE FUNCTION keep_no_words_of_erased()`);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [table] of TRIGGERS) {
      await runner.query(`DROP TRIGGER keep_no_words ON ${table}`);
    }
    await runner.query('DROP FUNCTION keep_no_words_of_erased()');
  }
}

const TRIGGERS = [
  [
    'payments',
    // What was sent to the provider is gone as well: of who is not erased it is there, but for old rows.
    `UPDATE OF error, failure, checkout_url ON payments FOR EACH ROW
       WHEN (NEW.request IS NULL
             AND (NEW.error IS NOT NULL OR NEW.failure IS NOT NULL OR NEW.checkout_url IS NOT NULL))`,
  ],
  ['refunds', `UPDATE OF error ON refunds FOR EACH ROW WHEN (NEW.error IS NOT NULL)`],
  [
    'money_movements',
    `INSERT ON money_movements FOR EACH ROW
       WHEN (NEW.kind IN ('refund_failed', 'refund_reversed') AND NEW.reason IS NOT NULL)`,
  ],
] as const;
