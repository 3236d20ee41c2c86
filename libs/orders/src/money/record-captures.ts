import { failpoint, TimeoutService, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { noteUnowed } from './cancel-unowed';
import type { CaptureJudgement } from './capture.judgement';
import { OrderGuard } from '../order/order-guard';
import { ForeignMoney } from './foreign-money';
import {
  isNewMoney,
  isStray,
  keepStrays,
  learnNames,
  recordMoney,
  settleClaims,
} from './captured-money';
import { hearAgain } from './hear-again';
import { type Capture, type CaptureRow, judge, type Judged, lockRows } from './judged-captures';
import type { MovementSource } from './movements';
import { findNamesakes, idGivenTwice } from './namesakes';
import { requestRefunds } from './request-refunds';
import { lockStockOf, reserveAgain, type StockToRevive } from './revive';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';

/**
 * What became of a capture; `unknown_payment` when it is for no payment of ours, `id_of_another` when the provider
 * has named another payment of ours so: a bug of its adapter. `busy`: somebody holds the order, or a product of one
 * that it would revive. Of these three nothing was done, and the last one has to be told again.
 */
export type CaptureOutcome =
  CaptureJudgement['verdict'] | 'unknown_payment' | 'id_of_another' | 'busy';

/**
 * Records captured money and decides about it, for a set of captures, in one transaction. The
 * caller holds the orders' locks where it can; the rows are locked here in any case.
 */
@Injectable()
export class RecordCaptures {
  constructor(
    private readonly guard: OrderGuard,
    private readonly timeouts: TimeoutService,
    private readonly foreign: ForeignMoney,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  /** One outcome for each capture, in their order; `source` is who told of them. */
  async record(
    tx: Transaction,
    captures: readonly Capture[],
    source: MovementSource,
  ): Promise<CaptureOutcome[]> {
    const outcomes = new Map<Capture, CaptureOutcome>();
    // Several captures for one order are judged one after the other: the second sees the first.
    for (let rest = [...captures]; rest.length > 0;) {
      const rows = await lockRows(tx, rest);
      const namesakes = await this.#findNamesakes(tx, rows);
      const orders = new Set<string>();
      const names = new Set<string>();
      const wave: Judged[] = [];
      const later: Capture[] = [];
      for (const capture of rest) {
        const row = rows.get(capture);
        if (!row) outcomes.set(capture, 'unknown_payment');
        else if (row === 'busy') outcomes.set(capture, row);
        else if (namesakes.has(capture)) outcomes.set(capture, 'id_of_another');
        else {
          const name = nameOf(row, capture);
          if (orders.has(row.order_id) || names.has(name)) {
            later.push(capture);
            continue;
          }
          orders.add(row.order_id);
          names.add(name);
          wave.push({ capture, row, judgement: judge(capture, row) });
        }
      }
      for (const [capture, outcome] of await this.#settle(tx, wave, source)) {
        outcomes.set(capture, outcome);
      }
      rest = later;
    }
    return captures.map((capture) => outcomes.get(capture) as CaptureOutcome);
  }

  async #findNamesakes(
    tx: Transaction,
    rows: ReadonlyMap<Capture, CaptureRow | 'busy'>,
  ): Promise<ReadonlyMap<Capture, unknown>> {
    const found = await findNamesakes(
      tx,
      [...rows].flatMap(([capture, row]) => (row === 'busy' ? [] : [[capture, row] as const])),
    );
    for (const one of found.values()) {
      tx.afterCommit(() => this.telemetry.failed('record money', idGivenTwice(one)));
    }
    return found;
  }

  async #settle(
    tx: Transaction,
    judged: readonly Judged[],
    source: MovementSource,
  ): Promise<Map<Capture, CaptureOutcome>> {
    const reviving = judged.filter(({ judgement }) => judgement.verdict === 'revive');
    const stock = await lockStockOf(
      tx,
      reviving.map(({ row }) => row.order_id),
    );
    const busy = new Set(reviving.filter(({ row }) => stock.busy.has(row.order_id)));
    const free = judged.filter((one) => !busy.has(one));
    const wave = await keepStrays(tx, await settleClaims(tx, free, source));
    await recordMoney(tx, wave.filter(isNewMoney), source);
    await learnNames(tx, wave);
    await hearAgain(tx, this.timeouts, wave.filter(isStray));
    await failpoint('capture.recorded');
    for (const from of ['pending_payment', 'closing'] as const) await this.#pay(tx, wave, from);
    const unrevived = await this.#revive(tx, wave, stock);
    await this.#refund(tx, wave, unrevived);
    await this.#settleEarlierMoves(tx, wave);
    for (const { row, judgement } of wave) {
      if (judgement.verdict !== 'hold') continue;
      tx.afterCommit(() =>
        this.telemetry.alert('money_on_hold', {
          paymentId: row.payment_id,
          orderId: row.order_id,
          reason: judgement.reason,
        }),
      );
    }
    const outcomes = new Map<Capture, CaptureOutcome>(
      [...busy].map(({ capture }) => [capture, 'busy']),
    );
    for (const one of wave) {
      outcomes.set(one.capture, unrevived.has(one) ? 'refund' : one.judgement.verdict);
    }
    return outcomes;
  }

  async #pay(
    tx: Transaction,
    wave: readonly Judged[],
    from: 'pending_payment' | 'closing',
  ): Promise<void> {
    const orderIds = wave.flatMap(({ row, judgement }) =>
      judgement.verdict === 'pay' && judgement.from === from ? [row.order_id] : [],
    );
    const paid = await this.guard.change(tx, { from, to: 'paid', orderIds, by: 'provider' });
    if (paid.length !== orderIds.length) {
      throw new Error('An order changed while its row was locked');
    }
    await this.#endOtherPayments(tx, orderIds);
    if (from === 'closing') {
      tx.afterCommit(() => orderIds.forEach(() => this.telemetry.race('payment')));
    }
  }

  /** Money that was refunded or disputed before its capture was told of. */
  async #settleEarlierMoves(tx: Transaction, wave: readonly Judged[]): Promise<void> {
    const rows = await tx.hot<{ order_id: string }>(
      `SELECT DISTINCT order_id FROM money_movements
        WHERE order_id = ANY ($1::uuid[]) AND kind IN ('foreign_refund', 'disputed')`,
      [wave.map(({ row }) => row.order_id)],
    );
    if (rows.length === 0) return;
    await this.foreign.settle(
      tx,
      rows.map(({ order_id: orderId }) => orderId),
    );
  }

  /** A paid order needs no other payment: those still open are ended at the provider. */
  async #endOtherPayments(tx: Transaction, orderIds: readonly string[]): Promise<void> {
    if (orderIds.length === 0) return;
    const rows = await tx.hot<{ order_id: string; now: Date }>(
      `SELECT DISTINCT order_id, now() AS now FROM payments
        WHERE order_id = ANY ($1::uuid[]) AND status = 'open'`,
      [orderIds],
    );
    await this.timeouts.arm(
      tx,
      rows.map((row) => ({
        kind: 'closing',
        subjectId: row.order_id,
        dueAt: row.now,
        version: 1,
      })),
    );
  }

  async #refund(
    tx: Transaction,
    wave: readonly Judged[],
    unrevived: ReadonlySet<Judged>,
  ): Promise<void> {
    const refunds = wave.flatMap((one) => {
      const { judgement, row, capture } = one;
      const reason = unrevived.has(one)
        ? ('late_payment' as const)
        : judgement.verdict === 'refund'
          ? judgement.reason
          : undefined;
      if (!reason) return [];
      const { amount, currency } = capture.money;
      return [{ paymentId: row.payment_id, reason, amount, currency }];
    });
    const written = await requestRefunds(tx, this.timeouts, refunds);
    if (written.length < refunds.length) await noteUnowed(tx, refunds);
    const late = refunds.filter(({ reason }) => reason === 'late_payment').length;
    tx.afterCommit(() => {
      for (let i = 0; i < late; i++) this.telemetry.race('close');
    });
  }

  /** Reopens closed orders as paid where stock can be had again; answers with those where not. */
  async #revive(
    tx: Transaction,
    wave: readonly Judged[],
    stock: StockToRevive,
  ): Promise<Set<Judged>> {
    const failed = new Set<Judged>();
    for (const one of wave) {
      if (one.judgement.verdict !== 'revive') continue;
      const orderId = one.row.order_id;
      if ((await reserveAgain(tx, stock, orderId, this.guard)) !== undefined) {
        failed.add(one);
        continue;
      }
      await this.guard.change(tx, {
        from: 'closed',
        to: 'paid',
        orderIds: [orderId],
        by: 'provider',
        reason: 'revived',
      });
    }
    return failed;
  }
}

/** What a provider calls the payment that it took this money for. */
const nameOf = ({ provider }: CaptureRow, { providerPaymentId }: Capture): string =>
  JSON.stringify([provider, providerPaymentId]);
