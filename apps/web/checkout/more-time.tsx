import { ProblemError } from '@lastcall/client';
import { useSignal, useSignalEffect, type ReadonlySignal } from '@preact/signals';
import { useRef } from 'preact/hooks';

/** Early enough to be read, and answered by a simple action (WCAG 2.2.1 asks for 20 s). */
const ASK_AT_MS = 120_000;
/** What was given ends in less than that, or soon after: nobody is asked again at once. */
const REST_MS = 20_000;

interface Asked {
  readonly say: (key: string) => string;
  readonly msLeft: ReadonlySignal<number>;
  /** Rejects where none was given: with a refusal that stays so, or another that may not. */
  readonly onWanted: () => Promise<void>;
}

/** Of the API's refusals all but a limit stay so; what stands between, and a server that fails, come back. */
const staysSo = (error: unknown): boolean =>
  error instanceof ProblemError && [400, 401, 403, 404, 409, 422].includes(error.status);

/** Where to ask again once so much is left: always before the end, and never later than at the first time. */
const askAgainAt = (leftMs: number): number =>
  Math.min(ASK_AT_MS, Math.max(leftMs - REST_MS, leftMs / 2));

/** Offers more time before the end, each time the end comes near; until the shop refuses. */
export function MoreTime({ say, msLeft, onWanted }: Asked) {
  const dialog = useRef<HTMLDialogElement>(null);
  const askAtMs = useSignal(ASK_AT_MS);
  const isAnswered = useSignal(false);
  const isRefused = useSignal(false);
  const hasFailed = useSignal(false);

  useSignalEffect(() => {
    if (msLeft.value > ASK_AT_MS) askAtMs.value = ASK_AT_MS;
    if (msLeft.value > askAtMs.value) {
      // Also where the answer that told so was lost.
      dialog.current?.close();
      isAnswered.value = hasFailed.value = false;
    } else if (!isAnswered.value && !isRefused.value && !dialog.current?.open) {
      dialog.current?.showModal();
    }
  });

  const answer = async (wantsMore: boolean): Promise<void> => {
    isAnswered.value = true;
    dialog.current?.close();
    if (!wantsMore) return;
    try {
      await onWanted();
      hasFailed.value = false;
      askAtMs.value = askAgainAt(msLeft.value);
    } catch (error) {
      isRefused.value = staysSo(error);
      hasFailed.value = !isRefused.value;
      // Asked once more, by the same dialog, which says why.
      isAnswered.value = isRefused.value;
    }
  };

  return (
    <>
      <p role="alert">{isRefused.value ? say('more.refused') : ''}</p>
      <dialog ref={dialog} aria-labelledby="more-title" onCancel={() => (isAnswered.value = true)}>
        <h2 id="more-title">{say('more.title')}</h2>
        <p>{say('more.about')}</p>
        <p role="alert">{hasFailed.value ? say('failed') : ''}</p>
        <div class="buttons">
          <button type="button" onClick={() => void answer(true)}>
            {say('more.yes')}
          </button>
          <button type="button" class="quiet" onClick={() => void answer(false)}>
            {say('more.no')}
          </button>
        </div>
      </dialog>
    </>
  );
}
