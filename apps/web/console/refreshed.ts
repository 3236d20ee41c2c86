import { effect, type ReadonlySignal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { ask } from '../shared/ask';

/** Seconds between two looks; 0 is off, and then nothing is asked. */
export const REFRESH_CHOICES = [1, 5, 15, 60, 0];
export const refreshSeconds = signal(5);

export interface Refreshed<Answer> {
  readonly answer: ReadonlySignal<Answer | undefined>;
  readonly failure: ReadonlySignal<string>;
  readonly look: () => Promise<void>;
}

/** An answer that is asked for again and again while it is looked at, and not while the tab is hidden. */
export function useRefreshed<Answer>(path: string): Refreshed<Answer> {
  const refreshed = useMemo(() => new Refreshing<Answer>(path), [path]);
  useEffect(() => refreshed.run(), [refreshed]);
  return refreshed;
}

class Refreshing<Answer> implements Refreshed<Answer> {
  readonly answer = signal<Answer | undefined>(undefined);
  readonly failure = signal('');
  #isOver = false;
  #asked = 0;
  /** Which question was answered last; later ones may be under way. */
  #answered = 0;

  constructor(private readonly path: string) {}

  /** @returns what stops it */
  run(): () => void {
    this.#isOver = false;
    void this.look();
    let timer: ReturnType<typeof setInterval> | undefined;
    const stopWatching = effect(() => {
      clearInterval(timer);
      if (refreshSeconds.value === 0) return;
      timer = setInterval(() => {
        const isUnderWay = this.#answered < this.#asked;
        if (!document.hidden && !isUnderWay) void this.look();
      }, refreshSeconds.value * 1_000);
    });
    return () => {
      this.#isOver = true;
      stopWatching();
      clearInterval(timer);
    };
  }

  readonly look = async (): Promise<void> => {
    const asked = ++this.#asked;
    // What was asked before something was changed may be answered after what was asked then.
    const isNews = (): boolean => {
      if (this.#isOver || asked < this.#answered) return false;
      this.#answered = asked;
      return true;
    };
    try {
      const answer = await ask<Answer>('GET', this.path);
      if (!isNews()) return;
      this.answer.value = answer;
      this.failure.value = '';
    } catch (error) {
      if (isNews()) this.failure.value = error instanceof Error ? error.message : String(error);
    }
  };
}
