import { ExitButtons } from './exit-buttons';
import { OF_WAITS } from './exits';
import { hashOf, place } from './location';
import { useRefreshed } from './refreshed';
import { Failure, Id, Instant } from './words';

interface Wait {
  readonly wait: string;
  readonly subjectId: string;
  readonly orderId: string | null;
  readonly since: string;
  readonly isOverdue: boolean;
  readonly owner: string;
  readonly exit: string;
}

const nameOf = (wait: string): string => wait.replaceAll('_', ' ');

export function WorkView({ mayAct }: { mayAct: boolean }) {
  const { answer, failure, look } = useRefreshed<readonly Wait[]>('/console/api/work');
  const all = answer.value;
  if (!all) return <Failure text={failure.value} />;
  const kind = place.value.query.get('wait') ?? '';
  const waits = kind ? all.filter(({ wait }) => wait === kind) : all;
  return (
    <>
      <Failure text={failure.value} />
      <Kinds waits={all} current={kind} />
      {mayAct && waits.length > 1 && OF_WAITS[kind] && (
        <p>
          <ExitButtons
            exits={OF_WAITS[kind]}
            ids={waits.map(({ subjectId }) => subjectId)}
            onDone={look}
          />
        </p>
      )}
      {waits.length === 0 ? (
        <p>Nothing waits for you.</p>
      ) : (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                {['Waits for', 'Whom', 'What', 'Order', 'Since', 'Ends by'].map((title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {waits.map((wait) => (
                <Row key={`${wait.wait} ${wait.subjectId}`} {...{ wait, mayAct }} onDone={look} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

/** The filter: in the address, as that of orders is. */
function Kinds({ waits, current }: { waits: readonly Wait[]; current: string }) {
  const kinds = [...new Set(waits.map(({ wait }) => wait))].sort();
  if (kinds.length === 0) return null;
  const countOf = (kind: string): number => waits.filter(({ wait }) => wait === kind).length;
  return (
    <nav class="kinds" aria-label="Kinds of waits">
      {['', ...kinds].map((kind) => (
        <a
          key={kind}
          href={hashOf('work', { wait: kind })}
          aria-current={kind === current ? 'true' : undefined}
        >
          {kind ? `${nameOf(kind)} (${countOf(kind)})` : `all (${waits.length})`}
        </a>
      ))}
    </nav>
  );
}

interface RowProps {
  readonly wait: Wait;
  readonly mayAct: boolean;
  readonly onDone: () => Promise<void>;
}

function Row({ wait, mayAct, onDone }: RowProps) {
  const exits = mayAct ? OF_WAITS[wait.wait] : undefined;
  return (
    <tr>
      <td class={wait.isOverdue ? 'late' : ''}>{nameOf(wait.wait)}</td>
      <td>{wait.owner}</td>
      <td>
        <Id id={wait.subjectId} />
      </td>
      <td>{wait.orderId && <Id id={wait.orderId} href={hashOf(`order/${wait.orderId}`)} />}</td>
      <td>
        <Instant at={wait.since} />
      </td>
      <td>
        {exits ? (
          <ExitButtons exits={exits} ids={[wait.subjectId]} onDone={onDone} />
        ) : (
          <small>{wait.exit}</small>
        )}
      </td>
    </tr>
  );
}
