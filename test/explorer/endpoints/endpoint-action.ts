/** How a shop's own system takes webhooks from now on; `half`: it takes one in, and its answer is lost. */
export type EndpointMood =
  'works' | 'refuses' | 'refuses payments' | 'hangs up' | 'half' | 'is gone';

/** What happens to one of the shop's endpoints: there, or by an operator. */
export type EndpointAction =
  `endpoint ${EndpointMood}` | 'redeliver' | 'redeliver all' | 'switch on';
