import type { TimerStore } from './timer-store';

/** What a fault is done to: the processes that ring, and the store that they share. */
export interface Hit {
  /** Absent where alarms are in the process itself, or in Postgres. */
  readonly store: TimerStore | undefined;
  readonly killProcesses: () => Promise<void>;
  readonly startProcesses: () => Promise<void>;
  readonly stepClocks: () => void;
}

export interface TimerFault {
  readonly name: string;
  /** Only where there is a store of its own to be hit. */
  readonly needsStore: boolean;
  readonly hit: (hit: Hit, quick: boolean) => Promise<void>;
}

const BACK_AFTER_MS = 5_000;
/** As long in a quick run as shows that it runs. */
const away = (quick: boolean): number => (quick ? 1_000 : 60_000);
const SLOW_MS = 200;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const of = (store: TimerStore | undefined): TimerStore => {
  if (!store) throw new Error('This fault needs a store');
  return store;
};

export const TIMER_FAULTS: readonly TimerFault[] = [
  {
    name: 'processes killed, started 5 s later',
    needsStore: false,
    hit: async ({ killProcesses, startProcesses }) => {
      await killProcesses();
      await pause(BACK_AFTER_MS);
      await startProcesses();
    },
  },
  {
    name: 'clocks of the processes 30 s ahead',
    needsStore: false,
    hit: async ({ stepClocks }) => stepClocks(),
  },
  {
    name: 'store killed and started',
    needsStore: true,
    hit: ({ store }) => of(store).killAndStart(),
  },
  {
    name: 'store emptied',
    needsStore: true,
    hit: ({ store }) => of(store).flush(),
  },
  {
    name: 'store silent for 60 s',
    needsStore: true,
    hit: async ({ store }, quick) => {
      of(store).freeze();
      await pause(away(quick));
      of(store).thaw();
    },
  },
  {
    name: '200 ms more on each way to the store',
    needsStore: true,
    hit: async ({ store }) => of(store).slow(SLOW_MS),
  },
];
