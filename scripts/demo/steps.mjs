// What the demo shows: each step uses the rig and says whether its promise held.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { SLOWNESS } from './rig.mjs';

/** @typedef {import('./rig.mjs').Rig} Rig */
/** @typedef {Record<string, any>} Json */
/** @typedef {{ held: boolean, detail: string }} Outcome */
/** @typedef {{ name: string, run: (rig: Rig) => Promise<Outcome> }} Step */

const execute = promisify(execFile);

/** A ring may be late by a slot, the timer's own precision and a busy machine. */
const ON_TIME_MS = 1_000 * SLOWNESS;
/** The sweep's interval, what it leaves to the timer, and a busy machine. */
const SWEPT_MS = 5_000 * SLOWNESS;

/** Steps that do not disturb each other: run at the same time. @type {Step[]} */
export const TOGETHER = [
  { name: 'closed on time', run: closedOnTime },
  { name: 'paid', run: paid },
  { name: 'paid in the grace minute', run: paidInGrace },
  { name: 'late payment refunded exactly once', run: lateRefund },
  { name: 'duplicate webhook ignored', run: duplicateIgnored },
  { name: 'shipped, then completed', run: shippedAndCompleted },
  { name: 'force-close', run: forceClose },
];

/** Steps that break something for everybody: run one after the other. @type {Step[]} */
export const ALONE = [
  { name: 'notice dropped, the close asked the provider', run: carefulLane },
  { name: 'provider down, the fence held', run: providerDown },
  { name: 'Redis flushed, closed all the same', run: redisFlushed },
  { name: 'killed with orders pending', run: restarted },
  { name: 'late payment revived', run: revived },
];

/** @param {Rig} rig */
async function closedOnTime(rig) {
  const order = await rig.place();
  const event = await rig.event(order, ({ to }) => to === 'closed');
  const lagMs = lag(await rig.read(order));
  return {
    held: event.by === 'timer' && lagMs >= 0 && lagMs < ON_TIME_MS,
    detail: `closed by the ${event.by}, ${lagMs} ms after its deadline`,
  };
}

/** @param {Rig} rig */
async function paid(rig) {
  const order = await rig.place();
  await pay(rig, await rig.openPayment(order));
  const event = await rig.event(order, ({ to }) => to === 'paid');
  return { held: event.from === 'pending_payment', detail: `paid at ${clock(event.at)}` };
}

/** @param {Rig} rig */
async function paidInGrace(rig) {
  const order = await rig.place();
  const payment = await rig.openPayment(order);
  await rig.until('the payment window is over', async () => isPast(order.payBy));
  const second = await rig.api(`POST /v1/orders/${order.id}/payments`);
  await pay(rig, payment);
  const event = await rig.event(order, ({ to }) => to === 'paid' || to === 'closed');
  return {
    held: second.status === 409 && event.to === 'paid' && event.at > order.payBy,
    detail: `a new payment was refused (${second.body.code}), the running one landed`,
  };
}

/** @param {Rig} rig */
async function lateRefund(rig) {
  const order = await rig.place();
  const payment = await rig.openPayment(order);
  await rig.event(order, ({ to }) => to === 'closed');
  await pay(rig, payment, { afterClose: true });
  await resendNotices(rig, payment, 5);
  await refundSucceeded(rig, order);
  const ledger = await rig.provider(`GET /v1/payments/${payment.providerPaymentId}`);
  const { refunds, capturedAmount } = ledger.body;
  const { status } = await rig.read(order);
  return {
    held: status === 'closed' && refunds.length === 1 && refunds[0].amount === capturedAmount,
    detail: `6 notices, ${refunds.length} refund of ${capturedAmount} at the provider`,
  };
}

/** @param {Rig} rig */
async function duplicateIgnored(rig) {
  const order = await rig.place();
  const payment = await rig.openPayment(order);
  await pay(rig, payment);
  await rig.event(order, ({ to }) => to === 'paid');
  await resendNotices(rig, payment, 5);
  const after = await rig.read(order);
  return {
    held: after.status === 'paid' && after.version === 2 && after.payments[0].refund === null,
    detail: `6 notices, 1 change, no refund`,
  };
}

/** @param {Rig} rig */
async function shippedAndCompleted(rig) {
  const order = await rig.place();
  await pay(rig, await rig.openPayment(order));
  await rig.event(order, ({ to }) => to === 'paid');
  await rig.api(`POST /v1/orders/${order.id}/shipment`, { scope: 'merchant' });
  const event = await rig.event(order, ({ to }) => to === 'completed');
  return { held: event.by !== 'customer', detail: `completed by the ${event.by}, unasked` };
}

/** @param {Rig} rig */
async function forceClose(rig) {
  const order = await rig.place();
  // The command's start alone may take a busy machine longer than a scaled payment window.
  const more = { seconds: 60, reason: 'demo: customer phones' };
  await rig.api(`POST /v1/ops/orders/${order.id}/extension`, { scope: 'ops:write', body: more });
  const args = ['orders', 'force-close', order.id, '--reason', 'demo: customer phoned', '--yes'];
  await execute(process.execPath, ['apps/ops-cli/bin/run.js', ...args], { env: rig.environment });
  const event = await rig.event(order, ({ to }) => to === 'closed');
  return {
    // The customer is told that an operator decided, and not in the operator's words.
    held: event.by === 'operator' && event.reason === 'operator_decided',
    detail: 'closed by the operator, whose words the customer is not told',
  };
}

/** @param {Rig} rig */
async function carefulLane(rig) {
  const order = await rig.place();
  const payment = await rig.openPayment(order);
  await rig.provider('PUT /v1/faults', { dropWebhooks: true });
  await pay(rig, payment);
  const event = await rig.event(order, ({ to }) => to === 'paid' || to === 'closed');
  await rig.provider('DELETE /v1/faults');
  return {
    held: event.from === 'closing' && event.to === 'paid',
    detail: `${event.from} -> ${event.to}, the notice never came`,
  };
}

/** @param {Rig} rig */
async function providerDown(rig) {
  const order = await rig.place();
  await rig.openPayment(order);
  await rig.provider('PUT /v1/faults', { errorRate: 1, dropWebhooks: true });
  await rig.event(order, ({ to }) => to === 'closing');
  const held = await rig.read(order);
  await rig.provider('DELETE /v1/faults');
  const event = await rig.event(order, ({ to }) => to === 'closed');
  return {
    held: held.status === 'closing' && event.from === 'closing',
    detail: `closing while the provider failed, ${event.to} once it answered`,
  };
}

/** @param {Rig} rig */
async function redisFlushed(rig) {
  const order = await rig.place();
  const { Redis } = await import('ioredis');
  const redis = new Redis(rig.redisUrl);
  // So late that no sweep can arm the alarm again before the deadline.
  await rig.until('the deadline is near', async () => isPast(order.closesAt, -200));
  await redis.flushall();
  redis.disconnect();
  const event = await rig.event(order, ({ to }) => to === 'closed');
  const lagMs = lag(await rig.read(order));
  return {
    held: lagMs >= 0 && lagMs < SWEPT_MS,
    detail: `closed by the ${event.by}, ${lagMs} ms after its deadline`,
  };
}

/** @param {Rig} rig */
async function restarted(rig) {
  const order = await rig.place();
  await rig.killApp();
  await rig.startApp({ LATE_PAYMENT: 'revive' });
  const startedAtMs = Date.now();
  const event = await rig.event(order, ({ to }) => to === 'closed');
  const closed = await rig.read(order);
  const lagMs = lag(closed);
  // How long the start takes is the machine's business.
  const sinceStartMs = Date.parse(closed.closedAt) - startedAtMs;
  return {
    held: lagMs >= 0 && Math.min(lagMs, sinceStartMs) < SWEPT_MS,
    detail: `kill -9, started again, closed by the ${event.by} ${lagMs} ms after its deadline`,
  };
}

/** Needs the policy that {@link restarted} has switched on. @param {Rig} rig */
async function revived(rig) {
  const order = await rig.place();
  const payment = await rig.openPayment(order);
  await rig.event(order, ({ to }) => to === 'closed');
  await pay(rig, payment, { paidAt: order.payBy });
  const event = await rig.event(order, ({ from, to }) => from === 'closed' && to === 'paid');
  return {
    held: event.reason === 'revived',
    detail: 'paid in time by its clock: open again, paid',
  };
}

/**
 * @param {Rig} rig
 * @param {Json} payment
 * @param {Json} [how]
 */
async function pay(rig, payment, how = {}) {
  const path = `POST /v1/payments/${payment.providerPaymentId}/pay`;
  const { status, body } = await rig.provider(path, how);
  if (status !== 200) throw new Error(`The buyer could not pay: ${JSON.stringify(body)}`);
}

/**
 * Has the provider send its notice of the capture again and again, until all have been answered.
 * @param {Rig} rig
 * @param {Json} payment
 * @param {number} copies
 */
async function resendNotices(rig, payment, copies) {
  const notices = async () => {
    const query = `providerPaymentId=${payment.providerPaymentId}`;
    const { body } = await rig.provider(`GET /v1/webhooks?${query}`);
    return body.items.filter((/** @type {Json} */ { type }) => type === 'payment.succeeded');
  };
  const [notice] = await rig.until('the notice is delivered', async () => {
    const delivered = (await notices()).filter(
      (/** @type {Json} */ { status }) => status === 'delivered',
    );
    return delivered.length > 0 && delivered;
  });
  await rig.provider('POST /v1/webhooks/resend', { eventId: notice.id, copies });
  await rig.until('the copies are answered', async () => {
    const [again] = await notices();
    return again.attempts >= notice.attempts + copies && again.status === 'delivered';
  });
}

/**
 * @param {Rig} rig
 * @param {Json} order
 */
async function refundSucceeded(rig, order) {
  return rig.until('the refund has succeeded', async () => {
    const { payments } = await rig.read(order);
    return payments[0].refund?.status === 'succeeded';
  });
}

/** @param {Json} order */
function lag({ closedAt, closesAt }) {
  return Date.parse(closedAt) - Date.parse(closesAt);
}

/** @param {string} instant */
function isPast(instant, offsetMs = 0) {
  return Date.now() >= Date.parse(instant) + offsetMs;
}

/** @param {string} instant */
function clock(instant) {
  return instant.slice(11, 23);
}
