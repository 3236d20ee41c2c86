import { type Action, propose } from './action';
import { hashOf } from './location';
import { useRefreshed } from './refreshed';
import { Failure, Id, Instant } from './words';

interface Wait {
  readonly wait: string;
  readonly subjectId: string;
  readonly orderId: string | null;
  readonly since: string;
  readonly isOverdue: boolean;
  readonly exit: string;
}

type Exit = Omit<Action, 'onDone'> & { readonly label: string };

const settle = (id: string, decision: string, label: string, about: string): Exit => ({
  ...{ label, about, title: `${label} this money` },
  path: `/console/api/payments/${id}/settle`,
  body: { decision },
  hasRehearsal: true,
});

/** The ends of a wait that a person can bring about here; the others have a command or a bank. */
const EXITS: Readonly<Record<string, (wait: Wait) => Exit[]>> = {
  payment_on_hold: ({ subjectId: id }) => [
    settle(id, 'refund', 'Refund', 'All of it goes back; an order that it had paid is canceled.'),
    settle(id, 'keep', 'Keep', 'It stays with the shop, and the order stays as it is.'),
    settle(id, 'accept', 'Accept', 'It pays its closed order after all, if stock can be had.'),
  ],
  webhook_held: ({ subjectId: id }) => [
    {
      ...{ label: 'Replay', title: 'Replay this webhook', about: 'It is applied once more.' },
      path: `/console/api/webhooks/${id}/replay`,
    },
    {
      ...{ label: 'Dismiss', title: 'Dismiss this webhook', about: 'It will have no effect.' },
      path: `/console/api/webhooks/${id}/dismiss`,
    },
  ],
  deadline_held: ({ subjectId: id }) => [
    {
      ...{ label: 'Release', title: 'Release this deadline', about: 'It is handled again, now.' },
      path: `/console/api/deadlines/${id}/release`,
    },
  ],
  refund_in_attention: ({ subjectId: id }) => [
    {
      ...{ label: 'Retry', title: 'Retry this refund', about: 'It is sent again, with a new key.' },
      path: `/console/api/refunds/${id}/retry`,
    },
  ],
};

export function WorkView({ mayAct }: { mayAct: boolean }) {
  const { answer, failure, look } = useRefreshed<readonly Wait[]>('/console/api/work');
  const waits = answer.value;
  if (!waits) return <Failure text={failure.value} />;
  return (
    <>
      <Failure text={failure.value} />
      {waits.length === 0 ? (
        <p>Nothing waits for you.</p>
      ) : (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                {['Waits for', 'What', 'Order', 'Since', 'Ends by'].map((title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {waits.map((wait) => (
                <tr key={`${wait.wait} ${wait.subjectId}`}>
                  <td class={wait.isOverdue ? 'late' : ''}>{wait.wait.replaceAll('_', ' ')}</td>
                  <td>
                    <Id id={wait.subjectId} />
                  </td>
                  <td>
                    {wait.orderId && (
                      <Id id={wait.orderId} href={hashOf(`order/${wait.orderId}`)} />
                    )}
                  </td>
                  <td>
                    <Instant at={wait.since} />
                  </td>
                  <td>
                    <Exits wait={wait} mayAct={mayAct} onDone={look} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

interface ExitsProps {
  readonly wait: Wait;
  readonly mayAct: boolean;
  readonly onDone: () => Promise<void>;
}

function Exits({ wait, mayAct, onDone }: ExitsProps) {
  const exits = mayAct ? (EXITS[wait.wait]?.(wait) ?? []) : [];
  if (exits.length === 0) return <small>{wait.exit}</small>;
  return (
    <span class="buttons">
      {exits.map(({ label, ...action }) => (
        <button key={label} type="button" onClick={() => propose({ ...action, onDone })}>
          {label}
        </button>
      ))}
    </span>
  );
}
