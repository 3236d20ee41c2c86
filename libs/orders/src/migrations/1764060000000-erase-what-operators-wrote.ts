import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeFunction } from './change-function';

/**
 * What operators wrote about a customer's orders is found as long as it is kept. A webhook that they did
 * something about is forgotten only when what they wrote of it is erased: it alone tells whom that is about.
 */
export class EraseWhatOperatorsWrote1764060000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // First what may have to wait for others: nobody waits for us meanwhile.
    await runner.query(`
      CREATE INDEX operator_actions_of_webhooks ON operator_actions (subject_id)
       WHERE ${ABOUT_WEBHOOKS}`);
    await changeFunction(runner, 'forget_settled_webhooks(int)', SETTLED, `${SETTLED}${UNTOUCHED}`);
    for (const [before, more] of ERASED) {
      await changeFunction(runner, 'erase_from_history(text)', before, `${before}${more}`);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [before, more] of ERASED) {
      await changeFunction(runner, 'erase_from_history(text)', `${before}${more}`, before);
    }
    await changeFunction(runner, 'forget_settled_webhooks(int)', `${SETTLED}${UNTOUCHED}`, SETTLED);
    await runner.query('DROP INDEX operator_actions_of_webhooks');
  }
}

const ABOUT_WEBHOOKS = `subject_kind IN ('webhook', 'deadline') AND reason NOT LIKE 'erased:%'`;

const SETTLED = `WHERE received_at < now() - interval '7 days' AND status = 'processed'`;
/** No join: that could be planned by reading all that operators ever did. */
const UNTOUCHED = `
             AND NOT EXISTS (SELECT FROM operator_actions a
                              WHERE a.subject_id = webhook_events.id
                                AND a.reason NOT LIKE 'erased:%' OFFSET 0)`;

const ERASED = [
  [
    `FROM webhook_events w WHERE w.notice ->> 'paymentId' = ANY (subject_ids::text[]);`,
    `
    -- By the provider's name for the payment; and what was forgotten before may have been about anybody.
    SELECT subject_ids || coalesce(array_agg(a.subject_id), '{}') INTO subject_ids
      FROM operator_actions a
      LEFT JOIN webhook_events w ON w.id = a.subject_id
      LEFT JOIN payments p ON p.provider = w.provider
                          AND p.provider_payment_id = w.notice ->> 'providerPaymentId'
     WHERE a.${ABOUT_WEBHOOKS.replace(' reason', ' a.reason')}
       AND (p.order_id = ANY (order_ids) OR (a.subject_kind = 'webhook' AND w.id IS NULL));`,
  ],
  [
    `GET DIAGNOSTICS actions = ROW_COUNT;`,
    `
    -- Why an order was settled as paid stood here as well; its event has it.
    UPDATE money_movements m SET reason = NULL
     WHERE m.order_id = ANY (order_ids) AND m.kind = 'captured' AND m.source = 'operator';`,
  ],
] as const;
