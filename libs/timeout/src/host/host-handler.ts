import type {
  BatchResult,
  Claimant,
  DeadlineHandler,
  DueDeadline,
  FollowUpJudge,
} from '../deadlines/deadline-handler';
import { HandlerFaultError } from '../draining/handled-apart';
import { nameSubjects } from '../deadlines/held-deadlines';
import type { TimeoutTelemetry } from '../telemetry';
import type { Transaction } from '../database/transaction';
import type { Due, HandlerMark, HandlesDue, Tx } from './deadline-handler.decorator';
import { enterHost, leaveHost } from './host-session';
import { assertNotOfOrders, ReservedKindError } from '../deadlines/kinds-of-orders';
import { isObject } from './option-kinds';
import { TAKE_SUBJECTS } from './subjects';
import { noteSubject } from './why-failed';

const MAX_BATCH = 500;
/** What somebody was just changing is looked at again after this. */
const BUSY_AGAIN_MS = 500;

interface Taken {
  readonly id: string;
  readonly subject: string;
  readonly taken: boolean;
  readonly now_ms: string;
}

/** A host's handler as the service calls it: with the host's subjects, and its search path. */
export class HostHandler implements DeadlineHandler {
  readonly maxBatch: number;
  readonly lockKeys: DeadlineHandler['lockKeys'];
  readonly #kind: string;

  constructor(
    { kind, maxBatch = MAX_BATCH }: HandlerMark,
    private readonly handler: HandlesDue,
    private readonly paths: { readonly own: string; readonly host: string },
    private readonly telemetry: Pick<TimeoutTelemetry, 'failed'>,
    /** Nobody asks for the subjects' names where nothing is locked by them. */
    locks: boolean,
  ) {
    this.#kind = kind;
    this.maxBatch = maxBatch;
    if (locks) this.lockKeys = (ids, tx) => keysOf(kind, ids, tx);
  }

  lockKey(): undefined {
    return undefined;
  }

  async handle(
    due: readonly DueDeadline[],
    tx: Transaction,
    _by?: Claimant,
    judge?: FollowUpJudge,
  ): Promise<BatchResult> {
    const ids = due.map(({ subjectId }) => subjectId);
    const found = new Map(
      (await tx.hot<Taken>(TAKE_SUBJECTS, [ids])).map((row) => [row.id, row] as const),
    );
    const [free, busy]: [(DueDeadline & { name: string })[], DueDeadline[]] = [[], []];
    for (const one of due) {
      const row = found.get(one.subjectId);
      if (row?.taken) free.push({ ...one, name: row.subject });
      else if (row) busy.push({ ...one, dueAt: new Date(Number(row.now_ms) + BUSY_AGAIN_MS) });
    }
    if (found.size < due.length) await this.#assertLostByUs(tx);
    if (free.length === 0) return { changed: 0, lost: due.length - busy.length, putBack: busy };
    const before = await enterHost(tx, this.paths.host);
    const hookFailed = (error: unknown): void =>
      this.telemetry.failed(`afterCommit of @DeadlineHandler("${this.#kind}")`, error);
    const given = free.map(({ kind, name: subjectId, dueAt, failures }) => {
      return { kind, subjectId, dueAt, failures };
    });
    const changed = await this.#ask(given, hostTx(tx, hookFailed, judge));
    // Also hears of a statement that the handler saw fail and went on from: nothing would be committed.
    await leaveHost(tx, before);
    return { changed, lost: due.length - busy.length - changed, putBack: busy };
  }

  /**
   * What nobody knows of was armed again or taken back; or it is of orders that have come to this schema since we
   * began, and would be lost to them. Then all is rolled back, and no subject is to blame.
   */
  async #assertLostByUs(tx: Transaction): Promise<void> {
    const query = (sql: string, params: readonly unknown[]) => tx.rows(sql, params);
    try {
      await assertNotOfOrders([this.#kind], this.paths.own, query);
    } catch (error) {
      throw error instanceof ReservedKindError ? new HandlerFaultError(error) : error;
    }
  }

  /** How many it has changed. */
  async #ask(given: readonly Due[], tx: Tx): Promise<number> {
    try {
      return changedOf(await this.handler.handle(given, tx), this.#kind);
    } catch (error) {
      const [one, ...others] = given;
      if (one && others.length === 0) noteSubject(error, one.subjectId);
      throw error;
    }
  }
}

async function keysOf(
  kind: string,
  ids: readonly string[],
  tx: Transaction,
): Promise<ReadonlyMap<string, string>> {
  const names = await nameSubjects(tx, ids);
  return new Map([...names].map(([id, subject]) => [id, `lock:${kind}:${subject}`]));
}

/** What a handler answers that no compiler has looked at. */
function changedOf(answer: unknown, kind: string): number {
  const changed = isObject(answer) ? answer.changed : undefined;
  if (Number.isSafeInteger(changed) && Number(changed) >= 0) return Number(changed);
  throw new TypeError(
    `\`handle\` of @DeadlineHandler("${kind}") must return { changed }: how many of its subjects it changed, 0 or more`,
  );
}

/** A host's transaction as our own handlers use it. */
export interface HostTx extends Tx {
  /** Runs `work` so that its failure undoes what it did, hooks included, and nothing else; not within itself. It is to go by what it is given. */
  aside<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Hears what becomes of what follows the commit; there where a deadline is handled. */
  readonly judge?: FollowUpJudge | undefined;
}

/**
 * A transaction of ours as a host is given it, between `enterHost` and `leaveHost`. Hooks of the host
 * that fail are told by `hookFailed`.
 */
export const hostTx = (
  tx: Transaction,
  hookFailed?: (error: unknown) => void,
  judge?: FollowUpJudge,
): HostTx => {
  tx.lend();
  return {
    judge,
    manager: tx.manager,
    query: (sql, params = []) => tx.rowsOfHost(sql, params),
    afterCommit: (hook) => tx.afterCommit(hook, hookFailed),
    aside: (work) => tx.aside((part) => work(hostTx(part, hookFailed))),
  };
};
