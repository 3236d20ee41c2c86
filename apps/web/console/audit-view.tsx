import { useRefreshed } from './refreshed';
import { Failure, Id, Instant } from './words';

interface Entry {
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly subjectKind: string;
  readonly subjectId: string;
  readonly reason: string;
}

export function AuditView() {
  const { answer, failure } = useRefreshed<readonly Entry[]>('/console/api/audit');
  const entries = answer.value;
  return (
    <>
      <Failure text={failure.value} />
      {entries?.length === 0 && <p>Nobody has done anything yet.</p>}
      {entries && entries.length > 0 && (
        <div class="scroll">
          <table>
            <caption>The newest 200; what changed an order comes a few seconds later</caption>
            <thead>
              <tr>
                {['When', 'Who', 'What', 'Of', 'Why'].map((title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {entries.map((entry, index) => (
                <tr key={index}>
                  <td>
                    <Instant at={entry.at} />
                  </td>
                  <td>{entry.actor}</td>
                  <td>{entry.action}</td>
                  <td>
                    {entry.subjectKind} <Id id={entry.subjectId} />
                  </td>
                  <td>{entry.reason}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
