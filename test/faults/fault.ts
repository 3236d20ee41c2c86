import { until } from '../support/until';
import { losses, unsettled, violations } from './books';
import { Client } from './client';
import { type Experience, newExperience } from './experience';
import { type Acknowledged, Load, pause } from './load';
import { type ProcessSettings, type Rig, SWEEP_MS } from './rig';
import { allowed } from '../support/slowness';

/** A row of the fault table of docs/faults.md. */
export interface Fault {
  readonly area: string;
  readonly name: string;
  /** True: part of the short form that CI runs. */
  readonly quick?: boolean;
  /** True: the row tells the sums that were compared with the provider’s ledger. */
  readonly isAboutMoney?: boolean;
  /** Breaks something under load, mends it by {@link Step.heal}; answers with what was seen. */
  readonly run: (step: Step) => Promise<string>;
}

export interface Outcome {
  readonly held: boolean;
  readonly seen: string;
  readonly inFlight: number;
  readonly healedMs: number;
  readonly orders: number;
  readonly lost: readonly string[];
  readonly experience: Experience;
  /** As many wanted each core of the machine as it ended. */
  readonly slowness: number;
}

/** Two sweeps, and what a busy machine needs for its drains. */
const HEAL_LIMIT_MS = 2 * SWEEP_MS + 6_000;
/** To look costs something on a machine that is shop, provider and customers. */
const POLL_MS = 300;
const SETTLE_LIMIT_MS = 150_000;
/** By ones and twos also others than alarms close what is due. */
const IN_A_ROW = 20;
const OPEN = `status IN ('pending_payment', 'closing')`;

export const USUAL_PROCESSES: readonly ProcessSettings[] = [
  { name: 'api', roles: 'api' },
  { name: 'worker-1', roles: 'worker' },
  { name: 'worker-2', roles: 'worker' },
];

/** One step of the suite: a fault on the rig under load, and what the rows need again and again. */
export class Step {
  readonly client: Client;
  readonly load: Load;
  inFlight = 0;
  healedMs = 0;

  constructor(
    readonly rig: Rig,
    /** True: shorter outages, for CI. */
    readonly quick: boolean,
    private readonly acknowledged: Acknowledged,
    random: () => number,
  ) {
    this.client = new Client(rig);
    this.load = new Load(this.client, acknowledged, random);
  }

  /** So long in the long form, so long in the short one. */
  lasting(longMs: number, quickMs: number): Promise<void> {
    const lastMs = this.quick ? quickMs : longMs;
    return new Promise((resolve) => setTimeout(resolve, lastMs));
  }

  /** Starts whichever of the usual processes is missing. */
  backToUsual(): Promise<void> {
    return assemble(this.rig);
  }

  /** Counts what is in flight as the fault strikes, and forgets the calls before it, but not what went wrong. */
  async strikes(): Promise<void> {
    const [row] = await this.rig.rows<{ n: string }>(
      `SELECT count(*) AS n FROM orders WHERE ${OPEN}`,
    );
    this.inFlight = Number(row?.n);
    this.client.experience = newExperience(this.client.experience.wrong);
  }

  /** Mends, and measures how long it takes until every invariant is 0 again, load going on. */
  async heal(mend: () => Promise<unknown> | void = () => undefined): Promise<void> {
    await mend();
    const startedMs = performance.now();
    let last: string[] = [];
    await until(
      'every invariant is 0 within two sweeps',
      async () => {
        await pause(POLL_MS);
        last = await violations(this.rig).catch((error: unknown) => [String(error)]);
        return last.length === 0;
      },
      allowed(HEAL_LIMIT_MS),
    ).catch((error: Error) => {
      throw new Error(`${error.message}: ${last.join(', ')}`);
    });
    this.healedMs = Math.round(performance.now() - startedMs);
  }

  /** Whether the stream has every event that is older than two seconds. */
  async isRelayed(): Promise<boolean> {
    const [row] = await this.rig.rows<{ behind: boolean }>(
      `SELECT EXISTS (SELECT FROM order_events, relay_cursor
                       WHERE tx >= tx_until AND at < now() - interval '2 seconds')
           OR (SELECT tx_from <> tx_until FROM relay_cursor) AS behind`,
    );
    return row?.behind === false;
  }

  /** How many orders have been closed by whom since `since`. */
  async closedBy(since: Date): Promise<Record<string, number>> {
    const rows = await this.rig.rows<{ by: string; n: string }>(
      `SELECT by, count(*) AS n FROM order_events
        WHERE to_status = 'closed' AND at >= $1 GROUP BY by`,
      [since],
    );
    return Object.fromEntries(rows.map(({ by, n }) => [by, Number(n)]));
  }

  /**
   * How many of the orders due since then timeouts came to, and how late at most: what a provider
   * takes to answer behind the fence is its own.
   */
  async lateness(since: Date): Promise<{ handled: number; mostS: number }> {
    const [row] = await this.rig.rows<{ n: string; lag: string | null }>(
      `SELECT count(*) AS n, max(extract(epoch FROM e.at - o.closes_at)) AS lag
         FROM orders o JOIN order_events e ON e.order_id = o.id
        WHERE o.closes_at >= $1 AND e.from_status = 'pending_payment' AND e.by IN ('timer', 'sweep')`,
      [since],
    );
    return { handled: Number(row?.n), mostS: Number(row?.lag ?? 0) };
  }

  /** Waits until alarms close orders again by themselves: twenty in a row of those due from now on, in time. */
  async alarmsAreBack(): Promise<void> {
    const now = await this.now();
    const areInTime = async (): Promise<boolean> => {
      const [row] = await this.rig.rows<{ are: boolean }>(
        `SELECT count(*) = $2 AND bool_and(by = 'timer' AND late <= interval '1 second')
                AND NOT EXISTS (SELECT FROM orders WHERE status = 'pending_payment'
                                   AND closes_at BETWEEN $1 AND now() - interval '1 second') AS are
           FROM (SELECT e.by, e.at - o.closes_at AS late
                   FROM orders o JOIN order_events e ON e.order_id = o.id
                  WHERE o.closes_at >= $1 AND e.from_status = 'pending_payment'
                    AND e.by IN ('timer', 'sweep')
                  ORDER BY o.closes_at DESC LIMIT $2) AS newest`,
        [now, IN_A_ROW],
      );
      return row?.are === true;
    };
    await until('alarms ring again, for twenty orders in a row', areInTime, 60_000);
  }

  /** Whether each of these processes has come to what is in another's place there. */
  assertSabotaged(names: readonly string[], what: string): void {
    const isLine = (name: string): boolean =>
      this.rig.process(name).log.includes(`sabotaged: ${what}\n`);
    const right = names.filter((name) => !isLine(name));
    assert(right.length === 0, `not sabotaged (${what}): ${right.join(', ')}`);
  }

  /** Processes that have heard nothing of the provider yet, as others would have forgotten within a minute. */
  async renewWorkers(): Promise<void> {
    for (const { name, roles } of USUAL_PROCESSES) {
      if (roles === 'worker') await this.rig.process(name).stop();
    }
    await this.backToUsual();
  }

  async now(): Promise<Date> {
    const [row] = await this.rig.rows<{ now: Date }>('SELECT clock_timestamp() AS now');
    return (row as { now: Date }).now;
  }

  /** Ends the load, lets everything come to rest, and compares all books. */
  async settle(): Promise<string[]> {
    await this.load.stop();
    let left = 0;
    await until(
      'everything comes to rest',
      async () => {
        await pause(POLL_MS);
        return (left = await unsettled(this.rig, this.client)) === 0;
      },
      SETTLE_LIMIT_MS,
    ).catch((error: Error) => {
      throw new Error(`${error.message}: ${left} left`);
    });
    let after: string[] = [];
    for (let look = 0; look < 60; look++) {
      after = await violations(this.rig);
      if (after.length === 0) break;
      await pause(POLL_MS);
    }
    return [...after, ...(await losses(this.rig, this.client, this.acknowledged))];
  }
}

/** Starts whichever of the usual processes is missing. */
export async function assemble(rig: Rig): Promise<void> {
  const running = new Set(rig.processes.filter((one) => one.isRunning).map(({ name }) => name));
  // One after the other: three that start at once on two cores time out on each other.
  for (const usual of USUAL_PROCESSES) if (!running.has(usual.name)) await rig.start(usual);
}

/** The error's words, for a report. */
export function assert(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(what);
}
