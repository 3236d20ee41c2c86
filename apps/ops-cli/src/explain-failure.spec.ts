import { ErrandError, type ErrorCode } from '@app/orders';
import { LastcallError } from '@app/orders/look';
import { explainFailure } from './explain-failure';

const nextOf = async (code: ErrorCode): Promise<string | undefined> => {
  const refused = new LastcallError(code, 'refused, as it says here');
  return (await explainFailure(refused, { command: 'orders list' })).parts.next;
};

it.each<[ErrorCode, RegExp]>([
  ['webhook_not_dismissable', /^lastcall webhooks list .* lastcall payments settle/],
  ['timeouts_not_stopped', /^lastcall doctor tells whether timeouts/],
  ['reconcile_run_over', /^lastcall reconcile --since 7d begins a new one$/],
  ['idempotency_key_reused', /--idempotency-key/],
  ['restock_not_supported', /without --restock/],
  ['currency_not_supported', /currency/],
  ['not_found', /lastcall targets list .*DATABASE_SCHEMA/],
  ['provider_error', /lastcall doctor asks the provider/],
  ['internal_error', /log of the workers/],
  ['unavailable', /^lastcall orders show ID/],
  ['order_refused', /hooks of the host/],
])('tells what mends %s, with which a command can be refused', async (code, next) => {
  expect(await nextOf(code)).toMatch(next);
});

it.each([
  ['orders.extend', /its open payment/, /^start a worker, and/],
  ['refunds.create-at-provider', /its money is with a provider/, /^start a worker, and/],
  [
    'refunds.create',
    /its hooks/,
    /^start a worker of the host that has the money's provider, too,/,
  ],
  ['orders.cancel', /its hooks/, /^start a worker of the host, and/],
] as const)('says why %s needs a worker, where none has come for it', async (what, why, next) => {
  const { parts } = await explainFailure(new ErrandError('not_taken', what), { command: 'any' });
  expect(parts).toMatchObject({ code: 'no_worker', exitCode: 6 });
  expect(parts.why).toMatch(why);
  expect(parts.next).toMatch(next);
});
