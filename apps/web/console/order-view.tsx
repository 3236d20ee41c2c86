import { propose } from './action';
import { place } from './location';
import { useRefreshed } from './refreshed';
import { Failure, Figure, Id, Instant, money } from './words';

interface Details {
  readonly order: {
    readonly id: string;
    readonly status: string;
    readonly closeReason: string | null;
    readonly customerId: string;
    readonly amount: number;
    readonly currency: string;
    readonly balance: Readonly<Record<'captured' | 'refunded' | 'disputed' | 'held', number>>;
    readonly closesAt: string | null;
  };
  readonly timeline: readonly {
    readonly at: string;
    readonly kind: string;
    readonly what: string;
    readonly by: string | null;
    readonly actor: string | null;
    readonly reason: string | null;
    readonly amount: number | null;
    readonly currency: string | null;
  }[];
}

const STEPS = ['pending_payment', 'closing', 'paid', 'shipped', 'completed', 'closed', 'canceled'];

export function OrderView({ mayAct }: { mayAct: boolean }) {
  const id = place.value.id ?? '';
  const { answer, failure, look } = useRefreshed<Details>(
    `/v1/ops/orders/${encodeURIComponent(id)}`,
  );
  const details = answer.value;
  if (!details) return <Failure text={failure.value} />;
  const { order, timeline } = details;
  const { status, currency, balance } = order;
  const way = new Set(timeline.map(({ what }) => what.replace('order.', '')));
  return (
    <>
      <Failure text={failure.value} />
      <p>
        <Id id={order.id} />
      </p>
      <ol class="way" aria-label="The way it took">
        {STEPS.filter((step) => step === status || step === 'pending_payment' || way.has(step)).map(
          (step) => (
            <li key={step} aria-current={step === status ? 'step' : undefined}>
              {step}
            </li>
          ),
        )}
      </ol>
      <dl class="figures">
        <Figure name="Customer">{order.customerId}</Figure>
        <Figure name="Amount">{money(order.amount, currency)}</Figure>
        {(['captured', 'refunded', 'disputed', 'held'] as const).map((name) => (
          <Figure key={name} name={name}>
            {money(balance[name], currency)}
          </Figure>
        ))}
        <Figure name="Closes">
          <Instant at={status === 'pending_payment' ? order.closesAt : null} />
        </Figure>
        <Figure name="Reason">{order.closeReason ?? '–'}</Figure>
      </dl>
      {mayAct && <Actions id={order.id} status={status} onDone={look} />}
      <div class="scroll">
        <table>
          <caption>What happened, oldest first</caption>
          <thead>
            <tr>
              {['When', 'What', 'By', 'Amount', 'Why'].map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {timeline.map((entry, index) => (
              <tr key={index} class={entry.kind}>
                <td>
                  <Instant at={entry.at} />
                </td>
                <td>{entry.what}</td>
                <td>{[entry.by, entry.actor].filter(Boolean).join(': ')}</td>
                <td class="number">
                  {entry.amount === null ? '' : money(entry.amount, entry.currency ?? currency)}
                </td>
                <td>{entry.reason}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

interface ActionsProps {
  readonly id: string;
  readonly status: string;
  readonly onDone: () => Promise<void>;
}

function Actions({ id, status, onDone }: ActionsProps) {
  const isUnpaid = status === 'pending_payment';
  return (
    <p class="buttons">
      {isUnpaid && (
        <button
          type="button"
          onClick={() =>
            propose({
              title: 'Close this order',
              about: 'It closes now, and its stock goes back.',
              path: `/v1/ops/orders/${id}/force-close`,
              onDone,
            })
          }
        >
          Close
        </button>
      )}
      {isUnpaid && (
        <button
          type="button"
          onClick={() =>
            propose({
              title: 'Give ten more minutes',
              about: 'The customer has ten minutes more to pay.',
              path: `/v1/ops/orders/${id}/extension`,
              body: { seconds: 600 },
              onDone,
            })
          }
        >
          Extend
        </button>
      )}
      {status === 'paid' && (
        <button
          type="button"
          onClick={() =>
            propose({
              title: 'Cancel this order',
              about: 'Its stock and all of its money go back.',
              path: `/console/api/orders/${id}/cancel`,
              hasRehearsal: true,
              onDone,
            })
          }
        >
          Cancel
        </button>
      )}
      {status === 'closing' &&
        (['closed', 'paid'] as const).map((as) => (
          <button
            key={as}
            type="button"
            onClick={() =>
              propose({
                title: `Settle as ${as}`,
                about: 'Its provider will never answer. Money that comes later is handled as late.',
                path: `/v1/ops/orders/${id}/settle`,
                body: { as },
                onDone,
              })
            }
          >
            Settle as {as}
          </button>
        ))}
    </p>
  );
}
