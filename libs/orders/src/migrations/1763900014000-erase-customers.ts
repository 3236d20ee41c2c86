import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `erase_from_history`: the one way in which history may change. With its owner's rights, as the
 * application may not touch it, it puts salted hashes in the place of a customer's name and of what
 * operators wrote about their orders, and forgets the salts. The hashes are what was sealed, so seals hold.
 */
export class EraseCustomers1763900014000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const sql = 'SELECT quote_ident(current_schema()) AS schema';
    const [{ schema }] = (await runner.query(sql)) as [{ schema: string }];
    await runner.query(eraseFromHistory(schema));
    await runner.query('REVOKE ALL ON FUNCTION erase_from_history(text) FROM PUBLIC');
    await runner.query(`
      DO $$ BEGIN
        IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'lastcall_app') THEN
          GRANT EXECUTE ON FUNCTION erase_from_history(text) TO lastcall_app;
        END IF;
      END $$`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION erase_from_history(text)');
  }
}

/** As seal.ts has it when it was written. */
const HASH = (text: string): string =>
  `'erased:' || left(encode(sha256(convert_to(s.salt || ' ' || ${text}, 'UTF8')), 'hex'), 32)`;

const eraseFromHistory = (schema: string): string => `
  CREATE FUNCTION erase_from_history(customer text, OUT pseudonym text, OUT events int,
                                     OUT actions int)
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = ${schema}, pg_temp AS $$
  DECLARE
    order_ids uuid[];
    subject_ids uuid[];
  BEGIN
    -- No seal is made meanwhile: it would make a salt for what is gone.
    PERFORM pg_advisory_xact_lock(2, 1);
    SELECT coalesce(array_agg(id), '{}') INTO order_ids FROM orders WHERE customer_id = customer;
    SELECT order_ids || coalesce(array_agg(p.id), '{}') INTO subject_ids
      FROM payments p WHERE p.order_id = ANY (order_ids);
    SELECT subject_ids || coalesce(array_agg(r.id), '{}') INTO subject_ids
      FROM refunds r WHERE r.payment_id = ANY (subject_ids);
    SELECT subject_ids || coalesce(array_agg(w.id), '{}') INTO subject_ids
      FROM webhook_events w WHERE w.notice ->> 'paymentId' = ANY (subject_ids::text[]);

    INSERT INTO history_salts (of) VALUES ('customer ' || customer) ON CONFLICT DO NOTHING;
    SELECT ${HASH('customer')} INTO pseudonym FROM history_salts s WHERE s.of = 'customer ' || customer;
    UPDATE order_events e SET actor = pseudonym
     WHERE e.order_id = ANY (order_ids) AND e.by = 'customer' AND e.actor = customer;
    GET DIAGNOSTICS events = ROW_COUNT;
    DELETE FROM history_salts WHERE of = 'customer ' || customer;

    INSERT INTO history_salts (of)
    SELECT 'event ' || e.order_id || '/' || e.version FROM order_events e
     WHERE e.order_id = ANY (order_ids) AND e.by = 'operator' AND e.reason NOT LIKE 'erased:%'
    ON CONFLICT DO NOTHING;
    WITH forgotten AS (
      DELETE FROM history_salts WHERE of IN (
        SELECT 'event ' || e.order_id || '/' || e.version FROM order_events e
         WHERE e.order_id = ANY (order_ids) AND e.by = 'operator') RETURNING of, salt)
    UPDATE order_events e SET reason = ${HASH('e.reason')} FROM forgotten s
     WHERE e.order_id = ANY (order_ids) AND s.of = 'event ' || e.order_id || '/' || e.version;

    INSERT INTO history_salts (of)
    SELECT 'action ' || a.id FROM operator_actions a
     WHERE a.subject_id = ANY (subject_ids) AND a.reason NOT LIKE 'erased:%'
    ON CONFLICT DO NOTHING;
    WITH forgotten AS (
      DELETE FROM history_salts WHERE of IN (
        SELECT 'action ' || a.id FROM operator_actions a WHERE a.subject_id = ANY (subject_ids))
      RETURNING of, salt)
    UPDATE operator_actions a SET reason = ${HASH('a.reason')} FROM forgotten s
     WHERE a.subject_id = ANY (subject_ids) AND s.of = 'action ' || a.id;
    GET DIAGNOSTICS actions = ROW_COUNT;
  END $$`;
