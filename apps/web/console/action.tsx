import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { ask } from '../shared/ask';
import { Failure } from './words';

export interface Action {
  readonly title: string;
  readonly about: string;
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** True where the API can rehearse it: its answer is shown before anything is done. */
  readonly hasRehearsal?: boolean;
  readonly onDone: () => Promise<void>;
}

const asked = signal<Action | undefined>(undefined);
const reason = signal('');
const rehearsal = signal('');
const failure = signal('');
const isBusy = signal(false);

/** Opens the dialog that every change goes through: what it would do, why, and under whose name. */
export function propose(action: Action): void {
  reason.value = '';
  rehearsal.value = '';
  failure.value = '';
  asked.value = action;
}

async function send(action: Action, dryRun: boolean): Promise<void> {
  isBusy.value = true;
  failure.value = '';
  try {
    const flags = action.hasRehearsal ? { dryRun } : {};
    const body = { ...action.body, ...flags, reason: reason.value.trim() };
    const answer = await ask<unknown>('POST', action.path, body);
    if (dryRun) {
      rehearsal.value = JSON.stringify(answer, null, 2);
      return;
    }
    asked.value = undefined;
    await action.onDone();
  } catch (error) {
    // It stays where it is and says why: somebody else may have been faster.
    failure.value = error instanceof Error ? error.message : String(error);
  } finally {
    isBusy.value = false;
  }
}

export function ActionDialog({ actor }: { actor: string }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const action = asked.value;
  useEffect(() => {
    if (action && !dialog.current?.open) dialog.current?.showModal();
    if (!action) dialog.current?.close();
  }, [action]);
  const mayAct = reason.value.trim().length >= 3 && !isBusy.value;
  const mustRehearse = action?.hasRehearsal === true && rehearsal.value === '';
  return (
    <dialog ref={dialog} aria-labelledby="action-title" onClose={() => (asked.value = undefined)}>
      {action && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (mayAct) void send(action, mustRehearse);
          }}
        >
          <h2 id="action-title">{action.title}</h2>
          <p>{action.about}</p>
          <label for="action-reason">Why (kept with the change, under the name of {actor})</label>
          <input
            id="action-reason"
            value={reason.value}
            maxLength={500}
            autocomplete="off"
            onInput={(event) => (reason.value = event.currentTarget.value)}
          />
          {rehearsal.value && (
            <>
              <p>A rehearsal says:</p>
              <pre tabIndex={0}>{rehearsal.value}</pre>
            </>
          )}
          <Failure text={failure.value} />
          <p class="buttons">
            <button type="submit" disabled={!mayAct}>
              {mustRehearse ? 'Rehearse' : action.title}
            </button>
            <button type="button" class="quiet" onClick={() => dialog.current?.close()}>
              Leave it
            </button>
          </p>
        </form>
      )}
    </dialog>
  );
}
