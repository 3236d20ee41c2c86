import type { EntityManager, QueryRunner } from 'typeorm';
import { fencedManager } from './fenced-manager';
import {
  asOneStatement,
  endsTransaction,
  TransactionIsLentError,
  whyNotAsOne,
} from './lent-transaction';
import { unlessLocked } from './locked-statements';
import { StoodStillError } from './others-errors';
import { HOSTS_TYPES } from './own-types';
import { rejectInTurn } from './reject-in-turn';
import { Savepoint } from './savepoint';
import { type Connection, nameOf, send, type Statement } from './send-statement';
import { unattended } from './unattended';

/** Postgres gives a statement up by itself; whoever waits for the answer waits a little longer. */
const ANSWERS_WITHIN_MS = 1_000;
/** `idle_in_transaction_session_timeout` has passed. */
const STOOD_STILL = '25P03';

/** A statement, or a hook, of a transaction that has ended, or of an attempt in it that has. Nothing was sent. */
class TransactionEndedError extends Error {
  readonly code = 'transaction_ended';

  constructor() {
    super('The transaction, or the attempt in it, has ended: nothing more can be done by it');
  }
}

export interface TransactionOptions {
  /** True for the work of many who know nothing of each other. Default: false. */
  readonly isShared?: boolean;
}

/** What a transaction and its attempts have in common. */
interface Whole {
  readonly hooks: (() => Promise<void>)[];
  readonly isShared: boolean;
  savepoint?: Savepoint;
  hasLentManager?: true;
  isLent?: true;
  answerLimit?: Pick<Statement, 'query_timeout'>;
}

/**
 * One database transaction, handed to everything that must commit or vanish together.
 * What may only happen once it is durable (an alarm, a nudge, a metric) is an `afterCommit` hook.
 * Once it has ended, each statement of it is refused with a {@link TransactionEndedError}.
 */
export class Transaction {
  #whole: Whole;
  /** Of an attempt: what it is made in. */
  #above: Transaction | undefined;
  #hasFailed = false;
  #hasEnded = false;
  #manager: EntityManager | undefined;

  constructor(
    private readonly runner: QueryRunner,
    { isShared = false }: TransactionOptions = {},
  ) {
    this.#whole = { hooks: [], isShared };
  }

  /** True where what one of many waits for, all of them wait for. */
  get isShared(): boolean {
    return this.#whole.isShared;
  }

  /** TypeORM's, in this transaction. What fails by it is heard of with the next {@link rows} only. */
  get manager(): EntityManager {
    this.#whole.hasLentManager = true;
    return (this.#manager ??= fencedManager(this.runner, (sql) => {
      const why = this.#refusal(sql);
      if (why) throw why;
    }));
  }

  /** From here on others use it: what they set for the session ends with the transaction, as what they set for that. */
  lend(): void {
    this.#whole.isLent = true;
  }

  /** True where others have used it, or an attempt in it. */
  get isLent(): boolean {
    return this.#whole.isLent ?? false;
  }

  /**
   * From here on a statement of this transaction may take so long, in milliseconds, whatever the limits
   * of its connection are.
   */
  async limit(limitMs: number): Promise<void> {
    await this.rows(`SET LOCAL statement_timeout = ${limitMs}`);
    this.#whole.answerLimit = { query_timeout: limitMs + ANSWERS_WITHIN_MS };
  }

  /**
   * Runs `work` so that its failure undoes what it did, hooks included, and nothing else. It is handed
   * the transaction anew: what it still does by that once it has answered or failed is refused, so that
   * nothing of it is done in what follows. Costs no round trip: the savepoint, and what undoes a
   * failure, are sent together with the next statement.
   */
  async attempt<T>(work: (part: Transaction) => Promise<T>): Promise<T> {
    const { hooks } = this.#whole;
    const before = hooks.length;
    const savepoint = (this.#whole.savepoint ??= new Savepoint());
    const part = this.#part();
    savepoint.begin();
    try {
      const result = await work(part);
      part.end();
      part.assertSound();
      savepoint.end();
      return result;
    } catch (error) {
      part.end();
      savepoint.rollBack();
      hooks.length = before;
      // The next statement may be one of TypeORM's, which does not come by here.
      if (this.#whole.hasLentManager) await this.settle();
      throw error;
    }
  }

  /**
   * As {@link attempt}, also within one and where the work goes by TypeORM; not within itself. Costs two
   * round trips.
   */
  async aside<T>(work: (part: Transaction) => Promise<T>): Promise<T> {
    const { hooks } = this.#whole;
    const before = hooks.length;
    await this.rows('SAVEPOINT aside');
    const part = this.#part();
    try {
      const result = await work(part);
      part.end();
      // Also hears of a failure that the work went on from.
      await this.rows('RELEASE SAVEPOINT aside');
      return result;
    } catch (error) {
      part.end();
      // There is nothing any more to roll back to.
      if (error instanceof StoodStillError) throw error;
      await this.rows('ROLLBACK TO SAVEPOINT aside');
      this.#hasFailed = false;
      hooks.length = before;
      throw error;
    }
  }

  #part(): Transaction {
    const part = new Transaction(this.runner);
    part.#whole = this.#whole;
    part.#above = this;
    return part;
  }

  /** Sends what is still owed to the database, where no statement of {@link rows} follows. */
  async settle(): Promise<void> {
    const owed = this.#whole.savepoint?.owed();
    if (owed) await send(this.runner, { text: owed, values: [] });
  }

  /** Runs one statement; `params` fill `$1..$n`. Returns its rows, those of `RETURNING` included. */
  rows<T>(sql: string, params: readonly unknown[] = []): Promise<T[]> {
    return this.#run({ text: sql, values: [...params] });
  }

  /** {@link rows} for a host: values are taken apart as on connections of its own. */
  rowsOfHost<T>(sql: string, params: readonly unknown[] = []): Promise<T[]> {
    return this.#run({ text: sql, values: [...params], types: HOSTS_TYPES });
  }

  /**
   * {@link rows} for the few statements that run all the time: each connection parses them once
   * and soon keeps their plan. `sql` must be one of a bounded number of texts.
   */
  hot<T>(sql: string, params: readonly unknown[]): Promise<T[]> {
    return this.#run({ name: nameOf(sql), text: sql, values: [...params] });
  }

  #run<T>(statement: Statement): Promise<T[]> {
    const why = this.#refusal(statement.text);
    if (!why) return this.#send(statement);
    const refused = rejectInTurn(why);
    // Whoever has not waited for it may well be gone.
    refused.catch(() => undefined);
    return refused;
  }

  async #send<T>(statement: Statement): Promise<T[]> {
    const { savepoint, answerLimit } = this.#whole;
    const how = this.isLent ? asOneStatement(statement.text) : {};
    try {
      return await unlessLocked(this.runner.dataSource, statement.text, () =>
        send(
          this.runner,
          { ...statement, ...answerLimit, ...how },
          // Of one that is not sent it is still owed.
          savepoint?.beforeStatement(),
        ),
      );
    } catch (error) {
      this.#hasFailed = true;
      throw this.isLent ? whyNotAsOne(error, statement.text) : error;
    }
  }

  /** From here on nothing is done by it, nor by its attempts. */
  end(): void {
    this.#hasEnded = true;
  }

  get #isOver(): boolean {
    return this.#hasEnded || (this.#above !== undefined && this.#above.#isOver);
  }

  /** Why this statement may not be sent. */
  #refusal(sql: string): Error | undefined {
    if (this.#isOver) return new TransactionEndedError();
    return this.isLent && endsTransaction(sql) ? new TransactionIsLentError(sql) : undefined;
  }

  #assertOpen(): void {
    if (this.#isOver) throw new TransactionEndedError();
  }

  /**
   * Ends the connection, where somebody may still be at work in this transaction: nothing of it is
   * committed, and what comes late is refused. Resolves once the database has let go of it.
   */
  async abandon(): Promise<void> {
    this.end();
    await ((await this.runner.connect()) as Connection).end();
  }

  /**
   * `heard` is called where the session ends, with true where Postgres ends it because this transaction makes
   * no statement: of a lost connection nobody says that. Returns what ends the listening.
   */
  async onEnd(heard: (stoodStill: boolean) => void): Promise<() => void> {
    // Past the client, which gives what is said to a statement, if one has just been sent.
    const { connection } = (await this.runner.connect()) as Connection;
    const hear = ({ code }: { readonly code?: string }): void => {
      if (code === STOOD_STILL) heard(true);
    };
    const end = (): void => heard(false);
    connection?.on('errorMessage', hear).on('end', end);
    return () => connection?.off('errorMessage', hear).off('end', end);
  }

  /**
   * Runs `hook` after a successful commit; nobody waits for it. What it throws or rejects with is told
   * by `failed` and changes nothing: what is committed stands, and the other hooks run.
   */
  afterCommit(hook: () => unknown, failed: (error: unknown) => void = warn): void {
    this.#assertOpen();
    this.#whole.hooks.push(() => unattended(hook, failed));
  }

  /** Postgres would answer a COMMIT after a failed statement by quietly rolling back. */
  assertSound(): void {
    if (this.#hasFailed)
      throw new Error('A statement has failed: nothing of this can be committed');
  }

  committed(): void {
    for (const hook of this.#whole.hooks) void hook();
  }
}

const warn = (error: unknown): void =>
  process.emitWarning(`What follows a commit has failed: ${String(error)}`);
