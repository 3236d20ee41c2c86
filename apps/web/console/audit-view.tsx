import { hashOf, place } from './location';
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

interface Page {
  readonly items: readonly Entry[];
  readonly nextCursor: string | null;
}

export function AuditView() {
  const cursor = place.value.query.get('cursor') ?? '';
  const search = cursor ? `?cursor=${encodeURIComponent(cursor)}` : '';
  const { answer, failure } = useRefreshed<Page>(`/console/api/audit${search}`);
  const entries = answer.value?.items;
  const next = answer.value?.nextCursor;
  return (
    <>
      <Failure text={failure.value} />
      {entries?.length === 0 && <p>Nobody has done anything yet.</p>}
      {entries && entries.length > 0 && (
        <div class="scroll">
          <table>
            <caption>The newest first; what changed an order comes a few seconds later</caption>
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
      {(cursor || next) && (
        <nav class="pages" aria-label="Pages">
          {cursor && <a href={hashOf('audit')}>The newest</a>}
          {next && <a href={hashOf('audit', { cursor: next })}>Older ones</a>}
        </nav>
      )}
    </>
  );
}
