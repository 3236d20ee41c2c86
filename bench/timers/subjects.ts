import { timerDriverKind, timerDriverKinds, type TimerDriverKind } from '@app/timeout';
import type { BenchOptions } from '../question';
import { AGAIN } from '../competitors/competitor';

/** A way to close orders on time, as a program of its own that can be killed and started again. */
export interface Subject {
  readonly name: string;
  readonly isOurs: boolean;
  /** Below dist/bench. */
  readonly program: string;
  readonly args: readonly string[];
  /** Only when it is first started: it hands its orders to its timer then. */
  readonly firstArgs: readonly string[];
  /** Only when it is started again. */
  readonly againArgs: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The setting of the store that it needs; undefined: Postgres, or none at all. */
  readonly store: string | undefined;
}

/** Lastcall with each of its drivers, each with and without the backstop. */
export function ourSubjects(granularity: string): Subject[] {
  return [...timerDriverKinds().values()].flatMap(({ name, needs }) =>
    [false, true].map((sweeps): Subject => ({
      ...{ name: `${name}, ${sweeps ? 'with the sweep' : 'alone'}`, isOurs: true },
      program: 'timers/timer-host',
      args: sweeps ? ['--sweep'] : [],
      firstArgs: ['--arm'],
      againArgs: [],
      env: {
        TIMER_DRIVER: name,
        TIMER_GRANULARITY: granularity,
        BENCH_PREFIX: sweeps ? 'swept' : 'alone',
      },
      store: needs[0],
    })),
  );
}

/** All drivers, or those that are named. */
export function askedKinds({ drivers }: BenchOptions): TimerDriverKind[] {
  return drivers?.map(timerDriverKind) ?? [...timerDriverKinds().values()];
}

/** Where drivers are named: these, and who shares their store. */
export function isAsked({ drivers }: BenchOptions): (subject: Subject) => boolean {
  if (!drivers) return () => true;
  const stores = drivers.map((name) => timerDriverKind(name).needs[0]);
  return ({ env, isOurs, store }) =>
    isOurs ? drivers.includes(env.TIMER_DRIVER ?? '') : stores.includes(store);
}

/** As people write it without lastcall. */
export const THEIR_SUBJECTS: readonly Subject[] = [
  theirs('setTimeout in the process', 'set-timeout'),
  theirs('cron poll every second', 'cron-poll'),
  theirs('pg-boss', 'pg-boss'),
  theirs('graphile-worker', 'graphile-worker'),
  theirs('DBOS, a sleeping workflow an order', 'dbos', undefined, '--sleep'),
  theirs('BullMQ, a job an order', 'bullmq', 'REDIS_URL'),
  theirs('Redis, a key an order that expires', 'keyspace-listener', 'REDIS_URL'),
  theirs('RabbitMQ, a time to live a message', 'rabbitmq-ttl', 'RABBITMQ_URL'),
  theirs('the same with windows mixed', 'rabbitmq-ttl', 'RABBITMQ_URL', '--mixed'),
];

function theirs(name: string, program: string, store?: string, ...args: string[]): Subject {
  return {
    ...{ name, isOurs: false, program: `competitors/${program}`, args, store },
    ...{ firstArgs: [], againArgs: [AGAIN] },
    env: { BENCH_PREFIX: [program, ...args].join('') },
  };
}
