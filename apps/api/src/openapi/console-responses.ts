import { ORDER_STATUSES, WEBHOOK_STATUSES } from '@app/orders';
import { z } from 'zod';
import { Order, Refund } from './order-responses';
import { amount, count, currency, id, instant } from './response-fields';

/* What operators see in the console. */

export const Overview = z
  .strictObject({
    open: z
      .strictObject({
        ...{ total: count, isMore: z.boolean(), dueIn1m: count, dueIn5m: count, dueIn10m: count },
        dueByMinute: z.array(count),
      })
      .describe('Unpaid orders by when they are due; `isMore`: the last ones were not counted'),
    closing: count,
    overdueDeadlines: count,
    oldestLagMs: count,
    lag: z
      .strictObject({ p50Ms: z.int(), p99Ms: z.int(), maxMs: z.int() })
      .describe('How late deadlines closed in the last 60 minutes, each to within a tenth'),
    closedBy: z.record(z.string(), count).describe('Closes of the last 60 minutes, by whom'),
    closesCountedTo: instant.describe('Closes since then may not be in `lag` and `closedBy` yet'),
    refunds: z
      .strictObject({
        requested: count,
        pending: count,
        succeeded: count,
        failed: count,
        needs_attention: count,
        canceled: count,
      })
      .describe('By status; above 10,000 `succeeded` is an estimate'),
    heldDeadlines: count,
    heldWebhooks: count,
    heldPayments: count,
  })
  .describe('What an operator wants to see first');

export const OrderDetails = z
  .strictObject({
    order: Order,
    lagMs: z.int().nullable().describe('How late a timeout closed it'),
    history: z.array(
      z.strictObject({
        id: z.string(),
        orderId: id,
        version: z.int().min(1),
        type: z.string().meta({ examples: ['order.paid'] }),
        from: z.enum(ORDER_STATUSES).nullable(),
        to: z.enum(ORDER_STATUSES),
        by: z.string().meta({ examples: ['operator'] }),
        actor: z.string().nullable(),
        reason: z.string().nullable(),
        at: instant,
      }),
    ),
    unanswered: z
      .array(
        z.strictObject({
          paymentId: id,
          provider: z.string().meta({ examples: ['sandbox'] }),
          error: z.string().describe('Why it has given no answer when it was asked last'),
        }),
      )
      .describe(
        'Open payments whose provider was asked to end them: what a `closing` order waits for',
      ),
    refunds: z.array(
      Refund.extend({
        paymentId: id,
        currency,
        attempt: z.int().min(1),
        error: z.string().nullable(),
        createdAt: instant,
        finishedAt: instant.nullable(),
      }),
    ),
    deadlines: z.array(
      z.strictObject({
        kind: z.string().meta({ examples: ['payment'] }),
        dueAt: instant,
        version: z.int(),
        failures: count,
        alarm: z.enum(['armed', 'none', 'unknown']),
        alarmAt: instant.nullable(),
      }),
    ),
    held: z
      .array(
        z.strictObject({
          kind: z.string(),
          subjectId: id,
          dueAt: instant,
          failures: count,
          error: z.string().nullable(),
          heldAt: instant,
        }),
      )
      .describe('Deadlines set aside for an operator'),
    webhooks: z
      .array(
        z.strictObject({
          id,
          provider: z.string().meta({ examples: ['sandbox'] }),
          eventId: z.string(),
          type: z.string().meta({ examples: ['payment.succeeded'] }),
          paymentId: z.string().nullable(),
          status: z.enum(WEBHOOK_STATUSES),
          result: z.string().nullable(),
          receivedAt: instant,
          processedAt: instant.nullable(),
        }),
      )
      .describe('What providers told of its payments, newest first; settled ones are kept a week'),
    timeline: z
      .array(
        z.strictObject({
          at: instant,
          kind: z.enum(['order', 'payment', 'money', 'webhook', 'operator', 'deadline', 'held']),
          what: z.string().meta({ examples: ['money.captured'] }),
          by: z.string().nullable(),
          actor: z.string().nullable(),
          reason: z.string().nullable(),
          subjectId: z.string().nullable().describe('The payment, refund or webhook it is about'),
          amount: amount.nullable(),
          currency: currency.nullable(),
        }),
      )
      .describe('Everything that happened, oldest first; deadlines stand where they are due'),
  })
  .describe('All that is known of an order; looking at it changes nothing');
