import type { Tx } from '@app/timeout';
import type { CapturedMoney } from '../providers/payment-provider';
import type { TargetPayment } from './close-target';
import { inMs, type TargetSql } from './target-sql';

/** Money that a provider says it has taken for a payment of the shop's own. */
export interface TargetCapture {
  readonly payment: TargetPayment;
  readonly providerPaymentId: string;
  readonly money: CapturedMoney;
}

export interface JudgedTargetCapture extends TargetCapture {
  readonly verdict: 'pay' | 'refund' | 'hold';
  /** Why it goes back or waits; null where it pays. */
  readonly reason: string | null;
}

type HeldRef = Pick<TargetPayment, 'provider' | 'paymentId'> &
  Pick<TargetCapture, 'providerPaymentId'>;

interface RecordedRow {
  kind: string;
  provider: string;
  payment_id: string;
  provider_payment_id: string;
  status: 'ended' | 'captured';
  amount: string | null;
  currency: string | null;
}

/** What is recorded of one payment. */
export interface RecordedPayment {
  readonly providerPaymentId: string;
  /** Undefined where it ended without money. */
  readonly captured: { readonly amount: number; readonly currency: string } | undefined;
}

/** Written for a payment of which the provider's id never reached the shop. */
export const NO_ID = '';
const keyOf = (provider: string, paymentId: string): string =>
  JSON.stringify([provider, paymentId]);

/** The ledger of a shop's own payments: which have ended, what was captured, and what became of that. */
export class TargetPayments {
  readonly #payments: string;

  /** @param targets by kind, those whose payments may be asked about */
  constructor(
    schema: string,
    private readonly targets: Pick<ReadonlyMap<string, unknown>, 'has'> = new Map(),
  ) {
    this.#payments = `"${schema}".target_payments`;
  }

  /** Those of these payments whose end nobody has seen yet. */
  async stillOpen(
    tx: Tx,
    kind: string,
    payments: readonly TargetPayment[],
  ): Promise<TargetPayment[]> {
    const recorded = await this.recorded(tx, kind, payments);
    return payments.filter(
      (one) =>
        !recorded(one).some(
          ({ providerPaymentId }) =>
            one.providerPaymentId === null ||
            providerPaymentId === NO_ID ||
            providerPaymentId === one.providerPaymentId,
        ),
    );
  }

  /**
   * What was recorded by a kind that no target has any more is taken as this one's: it was renamed.
   * @throws {TypeError} where what is recorded of one is of another target's payment
   */
  async recorded(
    tx: Tx,
    kind: string,
    payments: readonly Pick<TargetPayment, 'provider' | 'paymentId'>[],
  ): Promise<(payment: Pick<TargetPayment, 'provider' | 'paymentId'>) => RecordedPayment[]> {
    if (payments.length === 0) return () => [];
    const rows = await tx.query<RecordedRow>(
      // Row by row: while statistics know a small table, any other join reads all there is.
      `SELECT p.* FROM (SELECT DISTINCT * FROM unnest($1::text[], $2::text[]) AS a (provider, id)) AS asked, LATERAL (
         SELECT kind, provider, payment_id, provider_payment_id, status, amount, currency
           FROM ${this.#payments} WHERE provider = asked.provider AND payment_id = asked.id OFFSET 0) AS p`,
      [payments.map(({ provider }) => provider), payments.map(({ paymentId }) => paymentId)],
    );
    const byPayment = new Map<string, RecordedPayment[]>();
    for (const row of rows) {
      if (row.kind !== kind && this.targets.has(row.kind)) throw ofAnotherTarget(kind, row);
      const key = keyOf(row.provider, row.payment_id);
      byPayment.set(key, [...(byPayment.get(key) ?? []), fromRow(row)]);
    }
    return ({ provider, paymentId }) => byPayment.get(keyOf(provider, paymentId)) ?? [];
  }

  /**
   * What is recorded of the payments of these captures. Where an operator said that one was paid before
   * anybody knew the provider's id, the first capture is what he meant, unless another payment has its id: it
   * gives that, so that another one is other money.
   */
  async recordedOf(
    tx: Tx,
    kind: string,
    captures: readonly TargetCapture[],
    namesakes: ReadonlyMap<TargetCapture, string>,
  ): Promise<(payment: Pick<TargetPayment, 'provider' | 'paymentId'>) => RecordedPayment[]> {
    const payments = captures.map(({ payment }) => payment);
    const recorded = await this.recorded(tx, kind, payments);
    const meant = new Map<string, TargetCapture>();
    for (const capture of captures) {
      if (namesakes.has(capture)) continue;
      const { provider, paymentId } = capture.payment;
      const paid = recorded(capture.payment).filter(({ captured }) => captured);
      const isNameless = paid.some(({ providerPaymentId }) => providerPaymentId === NO_ID);
      const isRecorded = paid.some((one) => one.providerPaymentId === capture.providerPaymentId);
      const key = keyOf(provider, paymentId);
      if (isNameless && !isRecorded && !meant.has(key)) meant.set(key, capture);
    }
    if (meant.size === 0) return recorded;
    await this.#name(tx, [...meant.values()]);
    return this.recorded(tx, kind, payments);
  }

  async #name(tx: Tx, captures: readonly TargetCapture[]): Promise<void> {
    const keys = [
      captures.map(({ payment }) => payment.provider),
      captures.map(({ payment }) => payment.paymentId),
      captures.map(({ providerPaymentId }) => providerPaymentId),
    ];
    const named = `unnest($1::text[], $2::text[], $3::text[]) AS c (provider, payment_id, place)`;
    // One that was thought to have ended without money has none of its own: it is the same payment.
    await tx.query(
      `DELETE FROM ${this.#payments} p USING ${named}
        WHERE p.provider = c.provider AND p.payment_id = c.payment_id
          AND p.provider_payment_id = c.place AND p.status = 'ended'`,
      keys,
    );
    await tx.query(
      `UPDATE ${this.#payments} p SET provider_payment_id = c.place FROM ${named}
        WHERE p.provider = c.provider AND p.payment_id = c.payment_id
          AND p.provider_payment_id = '${NO_ID}' AND p.status = 'captured'`,
      keys,
    );
  }

  /** A negative answer never beats recorded money: where there is a row, it stays. */
  async end(tx: Tx, kind: string, payments: readonly TargetPayment[]): Promise<void> {
    if (payments.length === 0) return;
    await tx.query(
      `INSERT INTO ${this.#payments} (provider, payment_id, provider_payment_id, kind, order_id, status)
       SELECT provider, payment_id, place, $1, order_id, 'ended'
         FROM unnest($2::text[], $3::text[], $4::text[], $5::text[])
           AS p (provider, payment_id, place, order_id)
       ON CONFLICT DO NOTHING`,
      [
        kind,
        payments.map(({ provider }) => provider),
        payments.map(({ paymentId }) => paymentId),
        payments.map(({ providerPaymentId }) => providerPaymentId ?? NO_ID),
        payments.map(({ orderId }) => orderId),
      ],
    );
  }

  async record(tx: Tx, kind: string, captures: readonly JudgedTargetCapture[]): Promise<void> {
    if (captures.length === 0) return;
    await tx.query(
      `INSERT INTO ${this.#payments} AS p
         (provider, payment_id, provider_payment_id, kind, order_id, status, amount, currency, paid_at,
          verdict, hold_reason)
       SELECT provider, payment_id, place, $1, order_id, 'captured', amount, currency, paid_at, verdict,
              CASE verdict WHEN 'hold' THEN reason END
         FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[],
                     $8::timestamptz[], $9::text[], $10::text[])
           AS c (provider, payment_id, place, order_id, amount, currency, paid_at, verdict, reason)
       ON CONFLICT (provider, payment_id, provider_payment_id) DO UPDATE
         SET status = 'captured', amount = excluded.amount, currency = excluded.currency,
             paid_at = excluded.paid_at, verdict = excluded.verdict, hold_reason = excluded.hold_reason,
             recorded_at = now()
       WHERE p.status = 'ended'`,
      [
        kind,
        captures.map(({ payment }) => payment.provider),
        captures.map(({ payment }) => payment.paymentId),
        captures.map(({ providerPaymentId }) => providerPaymentId),
        captures.map(({ payment }) => payment.orderId),
        captures.map(({ money }) => money.amount),
        captures.map(({ money }) => money.currency),
        captures.map(({ money }) => money.paidAt),
        captures.map(({ verdict }) => verdict),
        captures.map(({ reason }) => reason),
      ],
    );
  }

  /** Writes down who has decided about money on hold; undefined where none of this name waits. */
  async settleHeld(
    tx: TargetSql,
    { provider, paymentId, providerPaymentId }: HeldRef,
    verdict: 'refund' | 'keep',
    { actor, reason }: { readonly actor: string; readonly reason: string },
  ): Promise<{ kind: string; orderId: string; money: CapturedMoney } | undefined> {
    const [row] = await tx.query<{
      kind: string;
      order_id: string;
      amount: string;
      currency: string;
      paid_ms: string;
    }>(
      `UPDATE ${this.#payments} SET verdict = $4, settled_by = $5, settled_reason = $6
        WHERE provider = $1 AND payment_id = $2 AND provider_payment_id = $3 AND verdict = 'hold'
       RETURNING kind, order_id, amount, currency, ${inMs('paid_at')} AS paid_ms`,
      [provider, paymentId, providerPaymentId, verdict, actor, reason],
    );
    if (!row) return undefined;
    const money = {
      amount: Number(row.amount),
      currency: row.currency,
      paidAt: new Date(Number(row.paid_ms)),
    };
    return { kind: row.kind, orderId: row.order_id, money };
  }
}

/** An order would close, or be paid, by what has become of a stranger's payment. */
const ofAnotherTarget = (
  kind: string,
  { provider, payment_id: id, ...row }: RecordedRow,
): TypeError =>
  new TypeError(
    `The close target "${kind}": payment ${id} at ${provider} is one of "${row.kind}", too: what a provider ` +
      'knows a payment by has to be unique among the payments of all targets at it',
  );

const fromRow = (row: RecordedRow): RecordedPayment => ({
  providerPaymentId: row.provider_payment_id,
  captured:
    row.status === 'captured'
      ? { amount: Number(row.amount), currency: row.currency as string }
      : undefined,
});
