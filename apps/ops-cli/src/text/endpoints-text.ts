import type { Delivery, WebhookEndpoint, WithSecret } from '@app/orders';
import { facts, table } from './table';

export function endpointsTable(endpoints: readonly WebhookEndpoint[]): string {
  return table(endpoints, [
    { title: 'ID', value: ({ id }) => id },
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'ADDRESS', value: ({ url }) => url },
    { title: 'EVENTS', value: ({ events }) => events.join(' ') },
    { title: 'FAILING SINCE', value: ({ failingSince }) => failingSince },
    { title: 'WHY OFF', value: ({ reason }) => reason },
  ]);
}

/** The one time that a secret is shown. */
export function secretText({ endpoint, secret }: WithSecret): string {
  return facts([
    ['id', endpoint.id],
    ['address', endpoint.url],
    ['events', endpoint.events.join(' ')],
    ['secret', secret],
    ['old secret until', endpoint.previousSecretUntil],
  ]);
}

export function deliveriesTable(deliveries: readonly Delivery[]): string {
  return table(deliveries, [
    { title: 'ID', value: ({ id }) => id },
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'EVENT', value: ({ type }) => type },
    { title: 'ORDER', value: ({ orderId }) => orderId },
    { title: 'VERSION', value: ({ version }) => version, align: 'right' },
    { title: 'ATTEMPTS', value: ({ attempts }) => attempts, align: 'right' },
    { title: 'NEXT', value: ({ nextAttemptAt }) => nextAttemptAt },
    { title: 'LAST ANSWER', value: ({ answer, error }) => error ?? answer },
  ]);
}
