import { useSignal, useSignalEffect, type ReadonlySignal } from '@preact/signals';
import { useRef } from 'preact/hooks';

/** Early enough to be read, and answered by a simple action (WCAG 2.2.1 asks for 20 s). */
const ASK_AT_MS = 120_000;

interface Asked {
  readonly say: (key: string) => string;
  readonly msLeft: ReadonlySignal<number>;
  /** Rejects where the shop gives no more. */
  readonly onWanted: () => Promise<void>;
}

/** Offers more time before the end, each time the end comes near; until the shop refuses. */
export function MoreTime({ say, msLeft, onWanted }: Asked) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isAnswered = useSignal(false);
  const isRefused = useSignal(false);

  useSignalEffect(() => {
    const isNear = msLeft.value <= ASK_AT_MS;
    if (!isNear) isAnswered.value = false;
    else if (!isAnswered.value && !isRefused.value && !dialog.current?.open) {
      dialog.current?.showModal();
    }
  });

  const answer = async (wantsMore: boolean): Promise<void> => {
    isAnswered.value = true;
    dialog.current?.close();
    if (!wantsMore) return;
    try {
      await onWanted();
    } catch {
      isRefused.value = true;
    }
  };

  return (
    <>
      <p role="alert">{isRefused.value ? say('more.refused') : ''}</p>
      <dialog ref={dialog} aria-labelledby="more-title" onCancel={() => (isAnswered.value = true)}>
        <h2 id="more-title">{say('more.title')}</h2>
        <p>{say('more.about')}</p>
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
