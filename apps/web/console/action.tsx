import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { ask } from '../shared/ask';
import { Failure } from './words';

/** A change to one subject, or to all of a list. */
export interface Action {
  readonly title: string;
  readonly about: string;
  /** The name that the API has for it. */
  readonly action: string;
  readonly ids: readonly string[];
  /** Where it is asked for, unless with the others. */
  readonly path?: string;
  /** An operator may say how much it was, where that is not all. */
  readonly takesAmount?: boolean;
  readonly onDone: () => Promise<void>;
}

interface Result {
  readonly id: string;
  readonly isDone: boolean;
  readonly says: string;
}

const PATH = '/console/api/actions';
const SHORTEST_REASON = 3;
/** Refusals that are told one by one. */
const MOST_TOLD = 10;

const asked = signal<Action | undefined>(undefined);
/** The change keeps it while its operator tries again. */
const key = signal('');
const reason = signal('');
const count = signal('');
const amount = signal('');
const rehearsal = signal<readonly Result[] | undefined>(undefined);
const outcome = signal<readonly Result[] | undefined>(undefined);
const failure = signal('');
const isBusy = signal(false);

/** Opens the dialog that every change goes through: what it would do, why, and under whose name. */
export function propose(action: Action): void {
  for (const text of [reason, count, amount, failure]) text.value = '';
  rehearsal.value = undefined;
  outcome.value = undefined;
  // `randomUUID` is missing on pages that came by plain HTTP.
  key.value = crypto.getRandomValues(new Uint32Array(4)).join('-');
  asked.value = action;
  void send(action, true);
}

async function send(proposed: Action, dryRun: boolean): Promise<void> {
  const { action, ids, path = PATH, onDone } = proposed;
  const said = amount.value;
  // The answer may come when its dialog has been left, and another one is open, or when it is about another amount.
  const isShown = (): boolean => asked.value === proposed && amount.value === said;
  isBusy.value = true;
  failure.value = '';
  const why = dryRun ? {} : { reason: reason.value.trim() };
  const sure = dryRun ? {} : { count: ids.length, key: key.value };
  const part = said.trim() === '' ? {} : { amount: Number(said) };
  const what = path === PATH ? { action, ...sure, ...part } : {};
  try {
    const body = { ...what, ...why, ids, dryRun };
    const { results } = await ask<{ results: readonly Result[] }>('POST', path, body);
    if (isShown()) {
      if (dryRun) rehearsal.value = results;
      // It stays where it is and says why: somebody else may have been faster.
      else if (results.every(({ isDone }) => isDone)) asked.value = undefined;
      else outcome.value = results;
    }
    if (!dryRun) await onDone();
  } catch (error) {
    if (isShown()) failure.value = error instanceof Error ? error.message : String(error);
  } finally {
    if (isShown()) isBusy.value = false;
  }
}

export function ActionDialog({ actor }: { actor: string }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const action = asked.value;
  useEffect(() => {
    if (action && !dialog.current?.open) dialog.current?.showModal();
    if (!action) dialog.current?.close();
  }, [action]);
  return (
    <dialog ref={dialog} aria-labelledby="action-title" onClose={() => (asked.value = undefined)}>
      {action && <Form action={action} actor={actor} onLeave={() => dialog.current?.close()} />}
    </dialog>
  );
}

interface FormProps {
  readonly action: Action;
  readonly actor: string;
  readonly onLeave: () => void;
}

function Form({ action, actor, onLeave }: FormProps) {
  const { title, about, ids, takesAmount = false } = action;
  const isMany = ids.length > 1;
  const rehearse = (): void => {
    if (!rehearsal.value) void send(action, true);
  };
  const isPossible = rehearsal.value?.some(({ isDone }) => isDone) === true && !outcome.value;
  const isReasoned = reason.value.trim().length >= SHORTEST_REASON;
  const isCounted = !isMany || count.value.trim() === String(ids.length);
  const mayAct = isPossible && isReasoned && isCounted && !isBusy.value;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (mayAct) void send(action, false);
        else rehearse();
      }}
    >
      <h2 id="action-title">{title}</h2>
      <p>{about}</p>
      <div role="status">
        {outcome.value ? (
          <Results says="This is what happened" results={outcome.value} />
        ) : rehearsal.value ? (
          <Results says="A rehearsal says" results={rehearsal.value} />
        ) : (
          <p>Rehearsing …</p>
        )}
      </div>
      {takesAmount && !isMany && !outcome.value && (
        <>
          <label for="action-amount">
            What was sent, in minor units, where others have taken a part of it (else empty)
          </label>
          <input
            id="action-amount"
            value={amount.value}
            inputMode="numeric"
            autocomplete="off"
            onInput={(event) => {
              amount.value = event.currentTarget.value;
              rehearsal.value = undefined;
            }}
            onBlur={rehearse}
          />
        </>
      )}
      {isPossible && (
        <>
          <label for="action-reason">Why (kept with the change, under the name of {actor})</label>
          <input
            id="action-reason"
            value={reason.value}
            maxLength={500}
            autocomplete="off"
            onInput={(event) => (reason.value = event.currentTarget.value)}
          />
        </>
      )}
      {isPossible && isMany && (
        <>
          <label for="action-count">How many these are, as a number: {ids.length}</label>
          <input
            id="action-count"
            value={count.value}
            inputMode="numeric"
            autocomplete="off"
            onInput={(event) => (count.value = event.currentTarget.value)}
          />
        </>
      )}
      <Failure text={failure.value} />
      <p class="buttons">
        {isPossible && (
          <button type="submit" disabled={!mayAct}>
            {title}
          </button>
        )}
        <button type="button" class="quiet" onClick={onLeave}>
          {isPossible ? 'Leave it' : 'Close'}
        </button>
      </p>
    </form>
  );
}

/** What comes of it, by what is the same; refusals one by one. */
function Results({ says, results }: { says: string; results: readonly Result[] }) {
  const done = new Map<string, number>();
  for (const one of results.filter(({ isDone }) => isDone)) {
    done.set(one.says, (done.get(one.says) ?? 0) + 1);
  }
  const refused = results.filter(({ isDone }) => !isDone);
  const isMany = results.length > 1;
  return (
    <>
      <p>{says}:</p>
      <ul class="results" tabIndex={0}>
        {[...done].map(([what, times]) => (
          <li key={what}>{isMany ? `${times}: ${what}` : what}</li>
        ))}
        {refused.slice(0, MOST_TOLD).map(({ id, says: why }) => (
          <li key={id} class="failure">
            {why}
          </li>
        ))}
        {refused.length > MOST_TOLD && <li>and {refused.length - MOST_TOLD} more are refused</li>}
      </ul>
    </>
  );
}
