import Stripe from 'stripe';
import type { ProviderFinding } from '../payment-provider';
import { EVENTS } from './stripe-notice';

/** Where our webhooks arrive, whatever the host. */
const PATH = '/v1/webhooks/stripe';
const PAGE = 100;

/**
 * Looks at the webhook endpoints that are registered at Stripe. An event has the shape of the API
 * version that its endpoint is pinned to, which need not be the one that this adapter reads.
 */
export async function examineEndpoint(stripe: Stripe): Promise<ProviderFinding[]> {
  const ours: Stripe.WebhookEndpoint[] = [];
  for await (const endpoint of stripe.webhookEndpoints.list({ limit: PAGE })) {
    if (URL.canParse(endpoint.url) && new URL(endpoint.url).pathname.endsWith(PATH)) {
      ours.push(endpoint);
    }
  }
  if (ours.length > 0) return ours.map(judgeEndpoint);
  const fix = `register https://<your host>${PATH}; \`stripe listen\` needs none`;
  return [{ name: 'webhook endpoint', detail: `none for ${PATH} at Stripe`, fix }];
}

function judgeEndpoint(
  endpoint: Pick<Stripe.WebhookEndpoint, 'api_version' | 'enabled_events' | 'status' | 'url'>,
): ProviderFinding {
  const { api_version: version, enabled_events: enabled, status, url } = endpoint;
  const missing = enabled.includes('*') ? [] : EVENTS.filter((event) => !enabled.includes(event));
  const wrong = [
    ...(status === 'enabled' ? [] : [`it is ${status}`]),
    ...(version === Stripe.API_VERSION
      ? []
      : [`its events are of API version ${version ?? "the account's default"}`]),
    ...(missing.length === 0 ? [] : [`it does not send ${missing.join(', ')}`]),
  ];
  return {
    name: 'webhook endpoint',
    detail: wrong.length === 0 ? `${url}, ${version}` : `${url}: ${wrong.join('; ')}`,
    fix:
      wrong.length === 0
        ? null
        : `at Stripe, make an endpoint of version ${Stripe.API_VERSION} with these events, enabled`,
  };
}
