import { Inject } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { readStopped, releaseBrakes, type Stopped } from '../brake/brake-desk';
import {
  type HeldDeadline,
  type Holding,
  listHeld,
  readHoldings,
  releaseHeld,
} from '../deadlines/held-deadlines';
import { instantParam } from '../database/instant-param';
import type { TimeoutService } from '../timeout.service';
import { queryRows } from '../database/query-rows';
import type { Transaction } from '../database/transaction';
import type { HostTransaction } from './host-transaction';
import { assertNotOfOrders, KINDS_OF_ORDERS, kindsOfHosts } from '../deadlines/kinds-of-orders';
import type { HostDeadline, SubjectRef } from '../deadlines/host-deadline';
import { assertSound, assertText, canBeArmed } from '../deadlines/sound-deadline';
import {
  type ArmedDeadline,
  armedFrom,
  type ArmedRow,
  LIST_SUBJECTS,
  READ_SUBJECT,
  Subjects,
} from './subjects';

const MOST_LISTED = 1_000;

/** A deadline as it is known of: `held` says why its handler is not called for it any more, and since when. */
export interface KnownDeadline extends ArmedDeadline {
  readonly held?: Holding;
}

/** Injection token of the {@link Timeouts} of that name. */
export const getTimeoutsToken = (name = 'default'): string => `LastcallTimeouts:${name}`;

/** Injects the {@link Timeouts}; `name` is the one given to `TimeoutModule.forRoot`, if any. */
export const InjectTimeouts = (name?: string): ParameterDecorator & PropertyDecorator =>
  Inject(getTimeoutsToken(name));

/**
 * Deadlines for whatever a host has. A subject has at most one of each kind: arming it again replaces
 * the one before. What is armed in a transaction is armed if that commits, and its `@DeadlineHandler`
 * is called once it is due.
 */
export class Timeouts {
  readonly #subjects: Subjects;
  readonly #sql: Pick<Transaction, 'rows'>;

  /** @internal */
  constructor(
    private readonly service: TimeoutService,
    private readonly dataSource: DataSource,
    private readonly schema: string,
  ) {
    this.#subjects = new Subjects(schema);
    this.#sql = { rows: (sql, params) => queryRows(dataSource, sql, params) };
  }

  /**
   * Arms one deadline or many, in one statement of the caller's transaction; of one that is held a new try begins.
   * @throws {TypeError} for a kind of more than 500 bytes or a subject of more than 2,000, for what is empty, no
   *   text or not to be kept, and for a date that is none, or not in the years 1 to 9999
   * @throws {ReservedKindError} for a kind of the order module's, where that has its tables in the same schema
   */
  async arm(tx: HostTransaction, deadlines: HostDeadline | readonly HostDeadline[]): Promise<void> {
    const given = listOf(deadlines);
    if (given.length === 0) return;
    given.forEach(assertSound);
    await this.assertFree(given.map(({ kind }) => kind));
    // One statement cannot arm a subject twice: the last one is meant.
    const last = new Map(given.map((one) => [JSON.stringify([one.kind, one.subjectId]), one]));
    this.#ring(tx, await this.#subjects.arm(tx, [...last.values()]));
  }

  /**
   * @internal
   * @throws {ReservedKindError}
   */
  assertFree(kinds: readonly string[]): Promise<void> {
    return assertNotOfOrders(kinds, this.schema, this.#sql.rows);
  }

  /** @internal Those of these kinds that are none of the order module's. */
  ofHosts(kinds: readonly string[]): Promise<readonly string[]> {
    return kindsOfHosts(kinds, this.schema, this.#sql.rows);
  }

  /** Arms at another instant; false when the subject has no deadline of this kind (any more). */
  async reschedule(tx: HostTransaction, deadline: HostDeadline): Promise<boolean> {
    assertSound(deadline);
    const armed = await this.#subjects.reschedule(tx, deadline);
    this.#ring(tx, armed);
    return armed.length > 0;
  }

  /**
   * Takes deadlines back, and says how many there were.
   * @throws {TypeError} for a kind or a subject that is no text
   */
  async cancel(tx: HostTransaction, subjects: SubjectRef | readonly SubjectRef[]): Promise<number> {
    const given = listOf(subjects);
    given.forEach(assertText);
    return this.#subjects.cancel(tx, given.filter(canBeArmed));
  }

  /**
   * The deadline of this subject, as committed; undefined when it has none.
   * @throws {TypeError} for a kind or a subject that is no text
   */
  async get(subject: SubjectRef): Promise<KnownDeadline | undefined> {
    assertText(subject);
    if (!canBeArmed(subject)) return undefined;
    const { kind, subjectId } = subject;
    const rows = await queryRows<ArmedRow>(this.dataSource, READ_SUBJECT, [kind, subjectId]);
    return (await this.#known(kind, rows))[0];
  }

  /** The deadlines of a kind, the next due first; `after` is the last one of the page before. */
  async list({
    kind,
    after,
    limit = 100,
  }: {
    readonly kind: string;
    readonly after?: ArmedDeadline | undefined;
    readonly limit?: number | undefined;
  }): Promise<KnownDeadline[]> {
    const rows = await queryRows<ArmedRow>(this.dataSource, LIST_SUBJECTS, [
      kind,
      instantParam(after?.dueAt.getTime() ?? -Infinity),
      after?.subjectId ?? '',
      Math.min(limit, MOST_LISTED),
    ]);
    return this.#known(kind, rows);
  }

  /**
   * Deadlines whose handler has failed too often, longest held first. It is called for one no more until
   * `release`, or until the deadline is armed again. Those of orders in the same schema are not among them.
   */
  async held({
    kind,
    limit = 100,
  }: { readonly kind?: string | undefined; readonly limit?: number | undefined } = {}): Promise<
    readonly HeldDeadline[]
  > {
    const butOf = await this.#kindsOfOrdersHere();
    const most = Math.min(limit, MOST_LISTED);
    const { items } = await listHeld(this.#sql, { kind, butOf, limit: most });
    return items;
  }

  /**
   * Makes held deadlines due again, now and with a clean record; answers with how many of these were held. None
   * of orders in the same schema, which their operators release.
   * @throws {TypeError} for a kind or a subject that is no text
   */
  async release(subjects: SubjectRef | readonly SubjectRef[]): Promise<number> {
    const all = listOf(subjects).map(({ kind, subjectId }) => ({ kind, subjectId }));
    all.forEach(assertText);
    const ofOrders = await this.#kindsOfOrdersHere();
    const given = all.filter(({ kind }) => !ofOrders.includes(kind));
    const released = await releaseHeld(this.#sql, { subjects: given });
    this.service.armed({ afterCommit: (hook) => void hook() }, released);
    return released.length;
  }

  /** Why deadlines stand still and wait for somebody (the option `brake`); undefined while they do not. */
  async stopped(): Promise<Stopped | undefined> {
    return (await this.#stopped())[0];
  }

  /**
   * Lets deadlines go on that have stopped, in each process within a second or two: what is due is handled at once.
   * Who said so, and why, is kept. False where none stood still. Those of orders beside them go on by their operators' word alone.
   * @throws {TypeError} without an actor or a reason
   */
  async resume(by: { readonly actor: string; readonly reason: string }): Promise<boolean> {
    const ids = (await this.#stopped()).map(({ id }) => id);
    return (await releaseBrakes(this.dataSource, ids, by)).length > 0;
  }

  /** By the kinds of `brake`; where this process was given none, by all that are no orders'. */
  async #stopped(): Promise<readonly Stopped[]> {
    const stopped = await readStopped(this.dataSource);
    const { kinds } = this.service.brake;
    const own = kinds.length > 0 ? kinds : await this.ofHosts(stopped.map(({ kind }) => kind));
    return stopped.filter(({ kind }) => own.includes(kind));
  }

  async #kindsOfOrdersHere(): Promise<readonly string[]> {
    const ofHosts = await this.ofHosts(KINDS_OF_ORDERS);
    return KINDS_OF_ORDERS.filter((kind) => !ofHosts.includes(kind));
  }

  async #known(kind: string, rows: readonly ArmedRow[]): Promise<KnownDeadline[]> {
    const ids = rows.map(({ id }) => id);
    const holdings = await readHoldings(this.#sql, kind, ids);
    return rows.map((row) => {
      const held = holdings.get(row.id);
      return { ...armedFrom(row), ...(held && { held }) };
    });
  }

  /** An alarm that rings for a transaction that was rolled back finds nothing. */
  #ring(tx: HostTransaction, rows: readonly ArmedRow[]): void {
    const deadlines = rows.map(({ id, kind, due_ms, version }) => {
      return { kind, subjectId: id, dueAt: new Date(Number(due_ms)), version };
    });
    const afterCommit = (hook: () => void): void =>
      tx.afterCommit ? tx.afterCommit(hook) : hook();
    this.service.armed({ afterCommit }, deadlines);
  }
}

const listOf = <T extends object>(given: T | readonly T[]): readonly T[] =>
  Array.isArray(given) ? (given as readonly T[]) : [given as T];
