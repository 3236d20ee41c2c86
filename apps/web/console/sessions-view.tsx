import { useSignal } from '@preact/signals';
import { ask } from '../shared/ask';
import { useRefreshed } from './refreshed';
import { Failure, Instant } from './words';

interface Session {
  readonly id: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  readonly openedAt: string | null;
  readonly endsAt: string;
}

/** As the API lists them. */
const MAX_SESSIONS_LISTED = 200;

/** Who is logged in, for admins; ending a session logs its browser out at once. */
export function SessionsView() {
  const { answer, failure, look } = useRefreshed<readonly Session[]>('/console/api/sessions');
  const refused = useSignal('');
  const end = async (id: string): Promise<void> => {
    try {
      refused.value = '';
      await ask('DELETE', `/console/api/sessions/${id}`);
    } catch (error) {
      refused.value = error instanceof Error ? error.message : String(error);
    }
    await look();
  };
  return (
    <>
      <Failure text={failure.value || refused.value} />
      <div class="scroll">
        <table>
          <caption>Who is logged in: the newest {MAX_SESSIONS_LISTED} at most</caption>
          <thead>
            <tr>
              {['Who', 'May', 'Since', 'Until', ''].map((title) => (
                <th key={title} scope="col">
                  {title || <span class="heard">Action</span>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {answer.value?.map(({ id, subject, scopes, openedAt, endsAt }) => (
              <tr key={id}>
                <td>{subject}</td>
                <td>{scopes.join(' ')}</td>
                <td>
                  <Instant at={openedAt} />
                </td>
                <td>
                  <Instant at={endsAt} />
                </td>
                <td>
                  <button type="button" onClick={() => void end(id)}>
                    End
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
