import type { DataSource, QueryRunner } from 'typeorm';
import { type Granularity, slotMsOf } from '../slots';
import { alarmAtInSql, alarmIdInSql, hasDeadlineInSql } from './alarms-in-sql';
import { armAnew } from './lost-alarms';
import type { Alarm, TimerDriver } from '../timer-driver';
import { unseenAlarms } from '../timer-limits';

export interface VerifyAlarmsParts {
  readonly dataSource: DataSource;
  readonly driver: TimerDriver;
  readonly kinds: readonly string[];
  readonly granularity: Granularity;
  /** Deadlines due within this time must have an alarm. Sweeps arm ahead: less than the horizon. */
  readonly reachMs: number;
  /** False in a process that does not ring. */
  readonly rings: boolean;
}

export interface AlarmFindings {
  readonly count: number;
  /** A few of them, oldest first. */
  readonly sample: readonly Alarm[];
}

export interface AlarmsReport {
  /** Why the driver's alarms could not be looked at, which then is no finding; else null. */
  readonly unseen: string | null;
  /** Alarms in the driver's store. */
  readonly alarms: number;
  /** Alarms that the deadlines within reach call for. */
  readonly expected: number;
  /** A deadline within reach has no alarm: it would be closed by the sweep, late. */
  readonly missing: AlarmFindings;
  /**
   * An alarm that no deadline calls for (any more: its subjects have moved on). It costs an empty
   * query when it rings, and is no fault.
   */
  readonly orphaned: AlarmFindings;
  /**
   * An alarm that would ring at another instant than its deadline's, or outside its slot. Versions before
   * ADR 48 armed slots to ring at their end: theirs are no fault, and gone within the horizon.
   */
  readonly wrong: AlarmFindings;
  /**
   * An alarm that should have rung: no worker takes them, or a process has armed it whose clock was ahead, and
   * then it rings as late as that. Taken away, what it is for is the sweep's, as it is already.
   */
  readonly late: AlarmFindings;
  readonly fixed: { readonly armed: number; readonly disarmed: number };
}

/** What is nearer than this may ring while we look; no finding is made of it. */
const NEAR = "interval '2 seconds'";
const LATE = "interval '5 seconds'";
/** A producer arms its alarm just after its commit: this long is given to it. */
const SETTLE_MS = 300;
/** Alarms, or deadlines, of one statement: everything is read by key, so that none takes long. */
const PAGE = 1_000;
const SAMPLE = 20;
/** Behind all subjects of an instant. */
const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
/** Each page is a walk along an index, also where there are no statistics yet. */
const PLANS = ['enable_seqscan', 'enable_bitmapscan', 'enable_sort', 'enable_hashjoin'];

const NO_FINDINGS: AlarmFindings = { count: 0, sample: [] };
const NOTHING_SEEN: Omit<AlarmsReport, 'unseen'> = {
  alarms: 0,
  expected: 0,
  missing: NO_FINDINGS,
  orphaned: NO_FINDINGS,
  wrong: NO_FINDINGS,
  late: NO_FINDINGS,
  fixed: { armed: 0, disarmed: 0 },
};

/** Where the alarms cannot be looked at, for this reason. */
export const unseenReport = (unseen: string): AlarmsReport => ({ ...NOTHING_SEEN, unseen });

/**
 * Compares the driver's alarms with the deadlines in Postgres. The alarms are copied into a
 * temporary table and compared there, so that memory stays flat for any number on either side, and
 * page by page, so that each statement keeps to everyday limits.
 */
export class VerifyAlarms {
  constructor(private readonly parts: VerifyAlarmsParts) {}

  async run({ fix = false }: { fix?: boolean } = {}): Promise<AlarmsReport> {
    const unseen = unseenAlarms(this.parts.driver, this.parts.rings);
    if (unseen !== null) return unseenReport(unseen);
    const runner = this.parts.dataSource.createQueryRunner();
    try {
      for (const setting of PLANS) await runner.query(`SET ${setting} = off`);
      await this.#prepare(runner);
      const report = await this.#compare(runner);
      return fix ? { ...report, fixed: await this.#fix(runner) } : report;
    } finally {
      await runner.query('DROP TABLE IF EXISTS alarms_found, alarms_expected, alarms_unlike');
      for (const setting of PLANS) await runner.query(`RESET ${setting}`);
      await runner.release();
    }
  }

  /** Deadlines first, alarms second: an alarm that follows its deadline is there when we look. */
  async #prepare(runner: QueryRunner): Promise<void> {
    for (const table of ['alarms_expected', 'alarms_found']) {
      await runner.query(
        `CREATE TEMP TABLE ${table} (id text COLLATE "C" PRIMARY KEY, at timestamptz(3))`,
      );
    }
    await runner.query(
      `CREATE TEMP TABLE alarms_unlike
         (finding text, id text COLLATE "C", at timestamptz(3), PRIMARY KEY (id, finding))`,
    );
    for (const kind of this.parts.kinds) await this.#expect(runner, kind);
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    const survey = await this.parts.driver.survey();
    let page: Alarm[] = [];
    for await (const alarm of survey.alarms()) {
      page.push(alarm);
      if (page.length < PAGE) continue;
      await insertFound(runner, page);
      page = [];
    }
    await insertFound(runner, page);
    await runner.query('ANALYZE alarms_expected');
    await runner.query('ANALYZE alarms_found');
  }

  /** The alarms of this kind's deadlines within reach. */
  async #expect(runner: QueryRunner, kind: string): Promise<void> {
    const { granularity } = this.parts;
    const [span] = (await runner.query(
      `SELECT now() AS due_at, now() + $1 * interval '1 millisecond' AS until`,
      [this.parts.reachMs],
    )) as [{ due_at: Date; until: Date }];
    let place = { due_at: span.due_at, subject_id: LAST_UUID };
    for (;;) {
      const [last] = (await runner.query(
        `WITH page AS MATERIALIZED (
           SELECT kind, due_at, subject_id, version FROM deadlines
            WHERE kind = $1 AND (due_at, subject_id) > ($2::timestamptz, $3::uuid) AND due_at <= $4
            ORDER BY kind, due_at, subject_id LIMIT ${PAGE}
         ), added AS (
           INSERT INTO alarms_expected SELECT ${alarmIdInSql(granularity)}, min(${alarmAtInSql(granularity)})
             FROM page GROUP BY 1
           ON CONFLICT DO NOTHING)
         SELECT due_at, subject_id, (SELECT count(*) FROM page)::int AS n
           FROM page ORDER BY due_at DESC, subject_id DESC LIMIT 1`,
        [kind, place.due_at, place.subject_id, span.until],
      )) as { due_at: Date; subject_id: string; n: number }[];
      if (!last || last.n < PAGE) return;
      place = last;
    }
  }

  async #compare(runner: QueryRunner): Promise<AlarmsReport> {
    for await (const page of pages(runner, 'alarms_expected')) {
      await runner.query(
        `INSERT INTO alarms_unlike
         SELECT CASE WHEN found_at IS NULL THEN 'missing' ELSE 'wrong' END, id, at
           FROM (SELECT e.*, (SELECT f.at FROM alarms_found f WHERE f.id = e.id) AS found_at
                   FROM ${AS_PAGE} AS e (id, at) OFFSET 0) AS e
          WHERE at > clock_timestamp() + ${NEAR}
            AND (found_at BETWEEN at AND at + $3 * interval '1 millisecond') IS NOT TRUE`,
        [...asPage(page), slotMsOf(this.parts.granularity)],
      );
    }
    for await (const page of pages(runner, 'alarms_found')) {
      // Deadlines armed since we began are looked at again: their alarms are no orphans.
      await runner.query(
        `INSERT INTO alarms_unlike
         SELECT CASE WHEN at < clock_timestamp() - ${LATE} THEN 'late' ELSE 'orphaned' END, id, at
           FROM ${AS_PAGE} AS f (id, at)
          WHERE at < clock_timestamp() - ${LATE}
             OR at > clock_timestamp() + ${NEAR}
                AND (SELECT true FROM alarms_expected e WHERE e.id = f.id) IS NULL
                AND (${hasDeadlineInSql(this.parts.granularity, 'f.id', '$3')}) IS NULL`,
        [...asPage(page), this.parts.kinds],
      );
    }
    const [counts] = (await runner.query(
      `SELECT (SELECT count(*) FROM alarms_found)::int AS alarms,
              (SELECT count(*) FROM alarms_expected)::int AS expected`,
    )) as [{ alarms: number; expected: number }];
    return {
      ...counts,
      unseen: null,
      missing: await findings(runner, 'missing'),
      orphaned: await findings(runner, 'orphaned'),
      wrong: await findings(runner, 'wrong'),
      late: await findings(runner, 'late'),
      fixed: { armed: 0, disarmed: 0 },
    };
  }

  async #fix(runner: QueryRunner): Promise<AlarmsReport['fixed']> {
    let armed = 0;
    let disarmed = 0;
    const toDisarm = this.parts.driver.abilities.disarms ? ['orphaned', 'wrong', 'late'] : [];
    for await (const page of pages(runner, 'alarms_unlike', toDisarm)) {
      await this.parts.driver.disarm(page.map(({ id }) => id));
      disarmed += page.length;
    }
    for await (const page of pages(runner, 'alarms_unlike', ['missing', 'wrong'])) {
      await armAnew(page, this.parts.driver);
      armed += page.length;
    }
    return { armed, disarmed };
  }
}

const AS_PAGE = 'unnest($1::text[], $2::timestamptz[])';
const asPage = (alarms: readonly Alarm[]): unknown[] => [
  alarms.map(({ id }) => id),
  alarms.map(({ at }) => at),
];

async function insertFound(runner: QueryRunner, alarms: readonly Alarm[]): Promise<void> {
  // A store being changed while it is read may name an alarm twice.
  await runner.query(
    `INSERT INTO alarms_found SELECT * FROM ${AS_PAGE} ON CONFLICT DO NOTHING`,
    asPage(alarms),
  );
}

async function findings(runner: QueryRunner, finding: string): Promise<AlarmFindings> {
  const [row] = (await runner.query(
    'SELECT count(*)::int AS count FROM alarms_unlike WHERE finding = $1',
    [finding],
  )) as [{ count: number }];
  const sample = (await runner.query(
    'SELECT id, at FROM alarms_unlike WHERE finding = $1 ORDER BY at, id LIMIT $2',
    [finding, SAMPLE],
  )) as Alarm[];
  return { count: row.count, sample };
}

async function* pages(
  runner: QueryRunner,
  table: 'alarms_expected' | 'alarms_found' | 'alarms_unlike',
  ofFindings?: readonly string[],
): AsyncGenerator<Alarm[]> {
  let after = '';
  for (;;) {
    const page = (await runner.query(
      `SELECT id, at FROM ${table}
        WHERE id > $1 ${ofFindings ? 'AND finding = ANY ($3)' : ''} ORDER BY id LIMIT $2`,
      [after, PAGE, ...(ofFindings ? [ofFindings] : [])],
    )) as Alarm[];
    if (page.length > 0) yield page;
    if (page.length < PAGE) return;
    after = page.at(-1)?.id ?? after;
  }
}
