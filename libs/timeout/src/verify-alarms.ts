import type { DataSource, QueryRunner } from 'typeorm';
import type { Granularity } from './alarm-for';
import type { Alarm, TimerDriver } from './timer-driver';
import { unseenAlarms } from './timer-limits';

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
  /** An alarm that would ring at another instant than its deadline's. */
  readonly wrong: AlarmFindings;
  /** An alarm that should have rung: no worker takes them. Nothing to mend here. */
  readonly late: AlarmFindings;
  readonly fixed: { readonly armed: number; readonly disarmed: number };
}

/** What is nearer than this may ring while we look; no finding is made of it. */
const NEAR = "interval '2 seconds'";
const LATE = "interval '5 seconds'";
/** A producer arms its alarm just after its commit: this long is given to it. */
const SETTLE_MS = 300;
const PAGE = 1_000;
const SAMPLE = 20;
/** Millions of rows are compared; the limit of everyday statements is too short for that. */
const STATEMENT_LIMIT = '120s';

const NO_FINDINGS: AlarmFindings = { count: 0, sample: [] };
const NOTHING_SEEN: AlarmsReport = {
  unseen: null,
  alarms: 0,
  expected: 0,
  missing: NO_FINDINGS,
  orphaned: NO_FINDINGS,
  wrong: NO_FINDINGS,
  late: NO_FINDINGS,
  fixed: { armed: 0, disarmed: 0 },
};

/**
 * Compares the driver's alarms with the deadlines in Postgres. The alarms are copied into a
 * temporary table and compared there, so that memory stays flat for any number on either side.
 */
export class VerifyAlarms {
  constructor(private readonly parts: VerifyAlarmsParts) {}

  async run({ fix = false }: { fix?: boolean } = {}): Promise<AlarmsReport> {
    const unseen = unseenAlarms(this.parts.driver, this.parts.rings);
    if (unseen !== null) return { ...NOTHING_SEEN, unseen };
    const runner = this.parts.dataSource.createQueryRunner();
    try {
      await runner.query(`SET statement_timeout = '${STATEMENT_LIMIT}'`);
      // Whole tables meet here, some without statistics: a loop over one of them would never end.
      await runner.query('SET enable_nestloop = off');
      await this.#prepare(runner);
      const report = await this.#compare(runner);
      return fix ? { ...report, fixed: await this.#fix(runner) } : report;
    } finally {
      await runner.query('DROP TABLE IF EXISTS alarms_found, alarms_expected, alarms_unlike');
      await runner.query('RESET statement_timeout');
      await runner.query('RESET enable_nestloop');
      await runner.release();
    }
  }

  /** Deadlines first, alarms second: an alarm that follows its deadline is there when we look. */
  async #prepare(runner: QueryRunner): Promise<void> {
    const { kinds, reachMs } = this.parts;
    await runner.query(
      `CREATE TEMP TABLE alarms_expected (id text PRIMARY KEY, at timestamptz(3))`,
    );
    await runner.query(`CREATE TEMP TABLE alarms_found (id text PRIMARY KEY, at timestamptz(3))`);
    await runner.query(
      `INSERT INTO alarms_expected
       SELECT ${this.#id}, min(${this.#at}) FROM deadlines
        WHERE kind = ANY ($1) AND due_at > now() AND due_at <= now() + $2 * interval '1 millisecond'
        GROUP BY 1`,
      [kinds, reachMs],
    );
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

  async #compare(runner: QueryRunner): Promise<AlarmsReport> {
    // Deadlines armed since we began are looked at again: their alarms are no orphans.
    await runner.query(
      `CREATE TEMP TABLE alarms_unlike AS
       SELECT 'missing' AS finding, e.id, e.at FROM alarms_expected e
        WHERE e.at > clock_timestamp() + ${NEAR}
          AND NOT EXISTS (SELECT FROM alarms_found f WHERE f.id = e.id)
       UNION ALL
       SELECT 'wrong', e.id, e.at FROM alarms_expected e JOIN alarms_found f USING (id)
        WHERE e.at <> f.at AND e.at > clock_timestamp() + ${NEAR}
       UNION ALL
       SELECT 'late', f.id, f.at FROM alarms_found f WHERE f.at < clock_timestamp() - ${LATE}
       UNION ALL
       SELECT 'orphaned', f.id, f.at FROM alarms_found f
         LEFT JOIN alarms_expected e ON e.id = f.id
         LEFT JOIN (SELECT DISTINCT ${this.#id} AS id FROM deadlines
                     WHERE kind = ANY ($1) AND due_at > now()) AS d ON d.id = f.id
        WHERE f.at > clock_timestamp() + ${NEAR} AND e.id IS NULL AND d.id IS NULL`,
      [this.parts.kinds],
    );
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
    const toDisarm = this.parts.driver.abilities.disarms ? ['orphaned', 'wrong'] : [];
    for await (const page of pages(runner, toDisarm)) {
      await this.parts.driver.disarm(page.map(({ id }) => id));
      disarmed += page.length;
    }
    for await (const page of pages(runner, ['missing', 'wrong'])) {
      await this.parts.driver.arm(page);
      armed += page.length;
    }
    return { armed, disarmed };
  }

  /** `alarmFor` in SQL: the alarm's id, and its instant. */
  get #id(): string {
    const { granularity } = this.parts;
    if (granularity === 'subject')
      return `kind || '-' || subject_id || '-' || version || '-' || (extract(epoch FROM due_at) * 1000)::bigint`;
    return `'slot-' || (${slotEnd(granularity)})`;
  }

  get #at(): string {
    const { granularity } = this.parts;
    if (granularity === 'subject') return 'due_at';
    return `to_timestamp((${slotEnd(granularity)}) / 1000.0)`;
  }
}

function slotEnd(slotMs: number): string {
  return `ceil(extract(epoch FROM due_at) * 1000 / ${Math.trunc(slotMs)})::bigint * ${Math.trunc(slotMs)}`;
}

async function insertFound(runner: QueryRunner, alarms: readonly Alarm[]): Promise<void> {
  // A store being changed while it is read may name an alarm twice.
  await runner.query(
    `INSERT INTO alarms_found SELECT * FROM unnest($1::text[], $2::timestamptz[])
     ON CONFLICT DO NOTHING`,
    [alarms.map(({ id }) => id), alarms.map(({ at }) => at)],
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

async function* pages(runner: QueryRunner, kinds: readonly string[]): AsyncGenerator<Alarm[]> {
  let after = '';
  for (;;) {
    const page = (await runner.query(
      `SELECT id, at FROM alarms_unlike
        WHERE finding = ANY ($1) AND id COLLATE "C" > $2 ORDER BY id COLLATE "C" LIMIT $3`,
      [kinds, after, PAGE],
    )) as Alarm[];
    if (page.length > 0) yield page;
    if (page.length < PAGE) return;
    after = page.at(-1)?.id ?? after;
  }
}
