import { type GaugesView, WAIT_NAMES } from '@app/orders';
import { QueryFailedError } from 'typeorm';
import { createLogger } from '../logging/logger';
import { PrometheusTelemetry } from './prometheus-telemetry';

const READINGS = {
  overdueDeadlines: 3,
  oldestOverdueSeconds: 12.5,
  refunds: { requested: 1, pending: 0, succeeded: 4, failed: 0, needs_attention: 2, canceled: 0 },
  relayAgeSeconds: 0.5,
  oldestClosingSeconds: 7,
  oldestUnsentRefundSeconds: 90,
  waits: Object.fromEntries(
    WAIT_NAMES.map((what) => [what, { count: 2, tooOld: 1, oldestSeconds: 8 }]),
  ) as GaugesView['waits'],
  automaticRefundsAhead: 3,
  unfoldedStockMovements: 12,
  oldestUnfoldedStockSeconds: 0.25,
  onHold: { payments: 1, webhooks: 0, deadlines: 2 },
  timeoutsStopped: true,
  reconcileDifferences: null,
  reconcileAgeSeconds: 3_600,
  invariants: [
    { name: 'stock_adds_up', violations: 0 },
    { name: 'money_has_a_home', violations: null },
  ],
};

const SWEEP_INTERVAL_MS = 10_000;

const databaseError = (code: string): Error => Object.assign(new Error('no'), { code });

describe('PrometheusTelemetry', () => {
  const telemetry = () => new PrometheusTelemetry(createLogger('silent'), SWEEP_INTERVAL_MS);

  it('has the series that alerts look at before anything happens', async () => {
    const text = await telemetry().registry.metrics();
    for (const line of [
      'lastcall_close_lag_seconds_count{by="operator"} 0',
      'lastcall_transitions_total{from="pending_payment",to="closed",by="sweep"} 0',
      'lastcall_payment_race_total{winner="close"} 0',
      'lastcall_guard_total{outcome="degraded"} 0',
      'lastcall_webhooks_total{result="bad_signature"} 0',
      'lastcall_batch_failures_total{kind="payment"} 0',
      'lastcall_held_deadlines_total{kind="refund"} 0',
      'lastcall_handler_failing{kind="closing"} 0',
      'lastcall_deadlines_handled_total{kind="payment",in_time="yes"} 0',
      'lastcall_deadlines_handled_total{kind="refund",in_time="no"} 0',
      'lastcall_alerts_total 0',
      'lastcall_sweep_interval_seconds 10',
    ]) {
      expect(text).toContain(line);
    }
  });

  it('has every metric of the contract, with its labels', async () => {
    const metrics = telemetry();
    metrics.closed('timer', 12);
    metrics.transitions('pending_payment', 'closed', 'timer', 500);
    metrics.race('payment');
    metrics.locked('held');
    metrics.webhook('processed');
    metrics.swept({ armed: 0, oldestLagMs: 5, tookMs: 3 });
    metrics.sweptUp({ found: 1 });
    metrics.setGauges(READINGS);
    const text = await metrics.registry.metrics();
    for (const line of [
      'lastcall_close_lag_seconds_bucket{le="0.025",by="timer"} 1',
      'lastcall_close_lag_seconds_count{by="timer"} 1',
      'lastcall_overdue_deadlines 3',
      'lastcall_oldest_overdue_seconds 12.5',
      'lastcall_transitions_total{from="pending_payment",to="closed",by="timer"} 500',
      'lastcall_payment_race_total{winner="payment"} 1',
      'lastcall_refunds{status="needs_attention"} 2',
      'lastcall_guard_total{outcome="held"} 1',
      'lastcall_webhooks_total{result="processed"} 1',
      'lastcall_event_relay_age_seconds 0.5',
      'lastcall_oldest_closing_seconds 7',
      'lastcall_reconcile_differences Nan',
      'lastcall_reconcile_age_seconds 3600',
      'lastcall_oldest_unsent_refund_seconds 90',
      'lastcall_unfolded_stock_movements 12',
      'lastcall_oldest_unfolded_stock_movement_seconds 0.25',
      'lastcall_on_hold{what="payments"} 1',
      'lastcall_waiting{what="dispute"} 2',
      'lastcall_oldest_wait_seconds{what="refund_pending"} 8',
      'lastcall_automatic_refunds_ahead 3',
      'lastcall_timeouts_stopped 1',
      'lastcall_invariant_violations{invariant="stock_adds_up"} 0',
      'lastcall_invariant_violations{invariant="money_has_a_home"} Nan',
    ]) {
      expect(text).toContain(line);
    }
    expect(text).toMatch(/^lastcall_sweep_last_run_timestamp_seconds 1\d{9}/m);
    expect(text).toMatch(/^process_cpu_seconds_total /m);
    expect(text).toMatch(/^nodejs_eventloop_lag_seconds /m);
  });

  it('counts an order closed before its deadline as not late', async () => {
    const metrics = telemetry();
    metrics.closed('customer', -600_000);
    expect(await metrics.registry.metrics()).toContain(
      'lastcall_close_lag_seconds_sum{by="customer"} 0',
    );
  });

  it('shows no old value when the database cannot tell', async () => {
    const metrics = telemetry();
    metrics.setGauges(READINGS);
    metrics.setGauges({});
    const text = await metrics.registry.metrics();
    expect(text).toMatch(/^lastcall_overdue_deadlines Nan$/im);
    expect(text).not.toMatch(/^lastcall_(refunds|on_hold|invariant_violations)\{/m);
  });

  it('bounds what free text can do to its labels', async () => {
    const metrics = telemetry();
    for (let i = 0; i < 500; i++) {
      const call = { provider: 'acme', outcome: 'ok', tookMs: 1 };
      metrics.providerCall({ ...call, operation: `operation ${i}` });
    }
    const series = (await metrics.registry.metrics()).match(/provider_call_seconds_count/g);
    expect(series).toHaveLength(51);
  });

  it('tells once in a while that deadlines wait for what somebody holds, of each kind', () => {
    const logger = createLogger('silent');
    const lines = jest.spyOn(logger, 'error');
    const metrics = new PrometheusTelemetry(logger, SWEEP_INTERVAL_MS);
    const locked = new QueryFailedError('SELECT 1', [], databaseError('55P03'));
    for (let times = 0; times < 100; times++) metrics.batchFailed('payment', 1, locked);
    metrics.batchFailed('webhook', 1, locked);
    const told = { size: 1, err: locked, unsaid: 0 };
    expect(lines.mock.calls).toEqual([
      [{ ...told, kind: 'payment' }, 'deadlines wait for what somebody holds'],
      [{ ...told, kind: 'webhook' }, 'deadlines wait for what somebody holds'],
    ]);
  });

  it('tells of each batch that failed for another reason', () => {
    const logger = createLogger('silent');
    const lines = jest.spyOn(logger, 'error');
    const metrics = new PrometheusTelemetry(logger, SWEEP_INTERVAL_MS);
    for (let times = 0; times < 3; times++) metrics.batchFailed('payment', 1, new Error('a bug'));
    expect(lines).toHaveBeenCalledTimes(3);
  });

  it('logs an alert as an error', () => {
    const logger = createLogger('silent');
    const error = jest.spyOn(logger, 'error');
    new PrometheusTelemetry(logger, SWEEP_INTERVAL_MS).alert('amounts differ', { orderId: 'o1' });
    expect(error).toHaveBeenCalledWith({ orderId: 'o1', alert: true }, 'amounts differ');
  });
});
