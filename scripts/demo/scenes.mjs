// What the demo shows: each scene acts on the stage and says whether its promise held.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** @typedef {import('./stage.mjs').Stage} Stage */
/** @typedef {Record<string, any>} Json */
/** @typedef {{ held: boolean, detail: string }} Outcome */
/** @typedef {{ name: string, play: (stage: Stage) => Promise<Outcome> }} Scene */

const run = promisify(execFile);

/** A ring may be late by a slot, the timer's own precision and a busy machine. */
const ON_TIME_MS = 1_000;
/** The sweep's interval, what it leaves to the timer, and a busy machine. */
const SWEPT_MS = 5_000;

/** Scenes that do not disturb each other: played at the same time. @type {Scene[]} */
export const TOGETHER = [
  { name: 'closed on time', play: closedOnTime },
  { name: 'paid', play: paid },
  { name: 'paid in the grace minute', play: paidInGrace },
  { name: 'late payment refunded exactly once', play: lateRefund },
  { name: 'duplicate webhook ignored', play: duplicateIgnored },
  { name: 'shipped, then completed', play: shippedAndCompleted },
  { name: 'force-close', play: forceClose },
];

/** Scenes that break something for everybody: played one after the other. @type {Scene[]} */
export const ALONE = [
  { name: 'notice dropped, the close asked the provider', play: carefulLane },
  { name: 'provider down, the fence held', play: providerDown },
  { name: 'Redis flushed, closed all the same', play: redisFlushed },
  { name: 'killed with orders pending', play: restarted },
  { name: 'late payment revived', play: revived },
];

/** @param {Stage} stage */
async function closedOnTime(stage) {
  const order = await stage.place();
  const event = await stage.event(order, ({ to }) => to === 'closed');
  const lagMs = lag(await stage.read(order));
  return {
    held: event.by === 'timer' && lagMs >= 0 && lagMs < ON_TIME_MS,
    detail: `closed by the ${event.by}, ${lagMs} ms after its deadline`,
  };
}

/** @param {Stage} stage */
async function paid(stage) {
  const order = await stage.place();
  await pay(stage, await stage.openPayment(order));
  const event = await stage.event(order, ({ to }) => to === 'paid');
  return { held: event.from === 'pending_payment', detail: `paid at ${clock(event.at)}` };
}

/** @param {Stage} stage */
async function paidInGrace(stage) {
  const order = await stage.place();
  const payment = await stage.openPayment(order);
  await stage.until('the payment window is over', async () => isPast(order.payBy));
  const second = await stage.api(`POST /v1/orders/${order.id}/payments`);
  await pay(stage, payment);
  const event = await stage.event(order, ({ to }) => to === 'paid' || to === 'closed');
  return {
    held: second.status === 409 && event.to === 'paid' && event.at > order.payBy,
    detail: `a new payment was refused (${second.body.code}), the running one landed`,
  };
}

/** @param {Stage} stage */
async function lateRefund(stage) {
  const order = await stage.place();
  const payment = await stage.openPayment(order);
  await stage.event(order, ({ to }) => to === 'closed');
  await pay(stage, payment, { afterClose: true });
  await resendNotices(stage, payment, 5);
  await refundSucceeded(stage, order);
  const ledger = await stage.provider(`GET /v1/payments/${payment.providerPaymentId}`);
  const { refunds, capturedAmount } = ledger.body;
  const { status } = await stage.read(order);
  return {
    held: status === 'closed' && refunds.length === 1 && refunds[0].amount === capturedAmount,
    detail: `6 notices, ${refunds.length} refund of ${capturedAmount} at the provider`,
  };
}

/** @param {Stage} stage */
async function duplicateIgnored(stage) {
  const order = await stage.place();
  const payment = await stage.openPayment(order);
  await pay(stage, payment);
  await stage.event(order, ({ to }) => to === 'paid');
  await resendNotices(stage, payment, 5);
  const after = await stage.read(order);
  return {
    held: after.status === 'paid' && after.version === 2 && after.payments[0].refund === null,
    detail: `6 notices, 1 change, no refund`,
  };
}

/** @param {Stage} stage */
async function shippedAndCompleted(stage) {
  const order = await stage.place();
  await pay(stage, await stage.openPayment(order));
  await stage.event(order, ({ to }) => to === 'paid');
  await stage.api(`POST /v1/orders/${order.id}/shipment`, { scope: 'merchant' });
  const event = await stage.event(order, ({ to }) => to === 'completed');
  return { held: event.by !== 'customer', detail: `completed by the ${event.by}, unasked` };
}

/** @param {Stage} stage */
async function forceClose(stage) {
  const order = await stage.place();
  const args = ['orders', 'force-close', order.id, '--reason', 'demo: customer phoned', '--yes'];
  await run(process.execPath, ['apps/ops-cli/bin/run.js', ...args], { env: stage.environment });
  const event = await stage.event(order, ({ to }) => to === 'closed');
  return {
    held: event.by === 'operator' && event.reason === 'demo: customer phoned',
    detail: 'closed by the operator, with a reason',
  };
}

/** @param {Stage} stage */
async function carefulLane(stage) {
  const order = await stage.place();
  const payment = await stage.openPayment(order);
  await stage.provider('PUT /v1/faults', { dropWebhooks: true });
  await pay(stage, payment);
  const event = await stage.event(order, ({ to }) => to === 'paid' || to === 'closed');
  await stage.provider('DELETE /v1/faults');
  return {
    held: event.from === 'closing' && event.to === 'paid',
    detail: `${event.from} -> ${event.to}, the notice never came`,
  };
}

/** @param {Stage} stage */
async function providerDown(stage) {
  const order = await stage.place();
  await stage.openPayment(order);
  await stage.provider('PUT /v1/faults', { errorRate: 1, dropWebhooks: true });
  await stage.event(order, ({ to }) => to === 'closing');
  const held = await stage.read(order);
  await stage.provider('DELETE /v1/faults');
  const event = await stage.event(order, ({ to }) => to === 'closed');
  return {
    held: held.status === 'closing' && event.from === 'closing',
    detail: `closing while the provider failed, ${event.to} once it answered`,
  };
}

/** @param {Stage} stage */
async function redisFlushed(stage) {
  const order = await stage.place();
  const { Redis } = await import('ioredis');
  const redis = new Redis(stage.redisUrl);
  // So late that no sweep can arm the alarm again before the deadline.
  await stage.until('the deadline is near', async () => isPast(order.closesAt, -200));
  await redis.flushall();
  redis.disconnect();
  const event = await stage.event(order, ({ to }) => to === 'closed');
  const lagMs = lag(await stage.read(order));
  return {
    held: lagMs >= 0 && lagMs < SWEPT_MS,
    detail: `closed by the ${event.by}, ${lagMs} ms after its deadline`,
  };
}

/** @param {Stage} stage */
async function restarted(stage) {
  const order = await stage.place();
  await stage.killApp();
  await stage.startApp({ LATE_PAYMENT: 'revive' });
  const event = await stage.event(order, ({ to }) => to === 'closed');
  const lagMs = lag(await stage.read(order));
  return {
    held: lagMs >= 0 && lagMs < SWEPT_MS,
    detail: `kill -9, started again, closed by the ${event.by} ${lagMs} ms after its deadline`,
  };
}

/** Needs the policy that {@link restarted} has switched on. @param {Stage} stage */
async function revived(stage) {
  const order = await stage.place();
  const payment = await stage.openPayment(order);
  await stage.event(order, ({ to }) => to === 'closed');
  await pay(stage, payment, { paidAt: order.payBy });
  const event = await stage.event(order, ({ from, to }) => from === 'closed' && to === 'paid');
  return {
    held: event.reason === 'revived',
    detail: 'paid in time by its clock: open again, paid',
  };
}

/**
 * @param {Stage} stage
 * @param {Json} payment
 * @param {Json} [how]
 */
async function pay(stage, payment, how = {}) {
  const path = `POST /v1/payments/${payment.providerPaymentId}/pay`;
  const { status, body } = await stage.provider(path, how);
  if (status !== 200) throw new Error(`The buyer could not pay: ${JSON.stringify(body)}`);
}

/**
 * Has the provider send its notice of the capture again and again, until all have been answered.
 * @param {Stage} stage
 * @param {Json} payment
 * @param {number} copies
 */
async function resendNotices(stage, payment, copies) {
  const notices = async () => {
    const query = `providerPaymentId=${payment.providerPaymentId}`;
    const { body } = await stage.provider(`GET /v1/webhooks?${query}`);
    return body.items.filter((/** @type {Json} */ { type }) => type === 'payment.succeeded');
  };
  const [notice] = await stage.until('the notice is delivered', async () => {
    const delivered = (await notices()).filter(
      (/** @type {Json} */ { status }) => status === 'delivered',
    );
    return delivered.length > 0 && delivered;
  });
  await stage.provider('POST /v1/webhooks/resend', { eventId: notice.id, copies });
  await stage.until('the copies are answered', async () => {
    const [again] = await notices();
    return again.attempts >= notice.attempts + copies && again.status === 'delivered';
  });
}

/**
 * @param {Stage} stage
 * @param {Json} order
 */
async function refundSucceeded(stage, order) {
  return stage.until('the refund has succeeded', async () => {
    const { payments } = await stage.read(order);
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
