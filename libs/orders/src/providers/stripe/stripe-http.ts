import Stripe from 'stripe';

/**
 * Node's HTTP, of whose answers only Stripe's own reach the SDK: that takes whatever is JSON for Stripe's word,
 * also a proxy's 404, and where it is no object, as `"ok"`, throws where nobody can catch it, which ends the
 * process. The others are no JSON to it.
 */
export function stripeHttpClient(): ReturnType<typeof Stripe.createNodeHttpClient> {
  const client = Stripe.createNodeHttpClient();
  const makeRequest = client.makeRequest.bind(client);
  client.makeRequest = async (...call) => {
    const response = await makeRequest(...call);
    const toJSON = response.toJSON.bind(response);
    response.toJSON = async () => {
      const body: unknown = await toJSON();
      if (isOfStripe(body)) return body;
      throw new SyntaxError('The answer is not one of Stripe');
    };
    return response;
  };
  return client;
}

/** Objects of Stripe's say in `object` what they are, and errors in `type` (docs.stripe.com/api). */
function isOfStripe(body: unknown): body is object {
  const { object, error } = Object(body) as { object?: unknown; error?: { type?: unknown } };
  return typeof object === 'string' || typeof error?.type === 'string';
}
