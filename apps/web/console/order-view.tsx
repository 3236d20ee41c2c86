import { ExitButtons } from './exit-buttons';
import { OF_ORDERS } from './exits';
import { OrderDiagram } from './order-diagram';
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
  readonly history: readonly { readonly from: string | null; readonly to: string }[];
  readonly unanswered: readonly {
    readonly paymentId: string;
    readonly provider: string;
    readonly error: string;
  }[];
  readonly deadlines: readonly {
    readonly kind: string;
    readonly dueAt: string;
    readonly failures: number;
    readonly alarm: string;
    readonly alarmAt: string | null;
  }[];
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

const ALARMS: Readonly<Record<string, string>> = {
  armed: 'its alarm rings',
  none: 'without an alarm: a sweep takes it',
  unknown: 'the timer store does not answer',
};

export function OrderView({ mayAct }: { mayAct: boolean }) {
  const id = place.value.id ?? '';
  const { answer, failure, look } = useRefreshed<Details>(
    `/v1/ops/orders/${encodeURIComponent(id)}`,
  );
  const details = answer.value;
  if (!details) return <Failure text={failure.value} />;
  const { order, timeline, unanswered, deadlines } = details;
  const { status, currency, balance } = order;
  return (
    <>
      <Failure text={failure.value} />
      <p>
        <Id id={order.id} />
      </p>
      <OrderDiagram status={status} history={details.history} />
      <dl class="figures">
        <Figure name="Customer">{order.customerId}</Figure>
        <Figure name="Amount">{money(order.amount, currency)}</Figure>
        {(['captured', 'refunded', 'disputed', 'held'] as const).map((name) => (
          <Figure key={name} name={name.replace(/^./, (letter) => letter.toUpperCase())}>
            {money(balance[name], currency)}
          </Figure>
        ))}
        <Figure name="Closes">
          <Instant at={status === 'pending_payment' ? order.closesAt : null} />
        </Figure>
        <Figure name="Reason">{order.closeReason ?? '–'}</Figure>
        {unanswered.map(({ paymentId, provider, error }) => (
          <Figure key={paymentId} name={`No answer of ${provider}`}>
            {error}
          </Figure>
        ))}
        {deadlines.map(({ kind, dueAt, failures, alarm, alarmAt }) => (
          <Figure key={kind + dueAt} name={`Deadline: ${kind}`}>
            <Instant at={dueAt} />
            {failures > 0 ? `, failed ${failures} times` : ''} · {ALARMS[alarm] ?? alarm}
            {alarmAt !== null && alarmAt !== dueAt && (
              <>
                {' '}
                <Instant at={alarmAt} />
              </>
            )}
          </Figure>
        ))}
      </dl>
      {mayAct && OF_ORDERS[status] && (
        <p>
          <ExitButtons exits={OF_ORDERS[status]} ids={[order.id]} onDone={look} />
        </p>
      )}
      <div class="scroll" tabIndex={0}>
        <table>
          <caption>What happened, oldest first</caption>
          <thead>
            <tr>
              {['When', 'What', 'By', 'Amount', 'Why'].map((title) => (
                <th key={title} scope="col" class={title === 'Amount' ? 'number' : ''}>
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
