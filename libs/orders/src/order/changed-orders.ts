import { Uuids } from '@app/timeout';

export interface ChangedOrder {
  readonly orderId: string;
  readonly version: number;
  readonly closesAt: Date | null;
  readonly changedAt: Date;
  /** The new status's deadline, already in the table; its alarm is the caller's to arm. */
  readonly deadline: { kind: string; dueAt: Date } | undefined;
}

/** Columns of all changed orders in one row; instants as milliseconds, '' where there is none. */
export interface ChangedColumns {
  readonly n: number;
  readonly ids: Buffer | null;
  readonly versions: string | null;
  readonly closes_at: string | null;
  /** Only of a status that has a deadline. */
  readonly due_at?: string | null;
  readonly changed_at: string;
}

/** How many changed orders had the same `closes_at`; instants as above. */
export interface CountedColumns extends Pick<ChangedColumns, 'n' | 'closes_at' | 'changed_at'> {
  readonly counts: string | null;
}

/** So many orders were changed so long after their deadline, in milliseconds. */
export interface SameLag {
  readonly lagMs: number;
  readonly count: number;
}

/** Orders that one statement has changed, as they were read: taken apart only for who looks at each. */
export class ChangedOrders {
  static readonly none = ChangedOrders.of([]);
  #each: ChangedOrder[] | undefined;

  private constructor(
    readonly count: number,
    /** False: none of them has a deadline from now on. */
    readonly haveDeadlines: boolean,
    /** Of those that had a deadline. */
    readonly lags: () => readonly SameLag[],
    private readonly ids: Uuids | undefined,
    private readonly takeApart: () => ChangedOrder[],
  ) {}

  static of(orders: readonly ChangedOrder[]): ChangedOrders {
    const lags = (): SameLag[] =>
      orders.flatMap(({ closesAt, changedAt }) =>
        closesAt ? [{ lagMs: changedAt.getTime() - closesAt.getTime(), count: 1 }] : [],
      );
    const ids = Uuids.of(orders.map(({ orderId }) => orderId));
    const haveDeadlines = orders.some(({ deadline }) => deadline);
    return new ChangedOrders(ids.count, haveDeadlines, lags, ids, () => [...orders]);
  }

  /** Which orders they are cannot be asked then. */
  static counted({ n, counts, closes_at, changed_at }: CountedColumns): ChangedOrders {
    const lags = (): SameLag[] => {
      const each = valuesOf(counts);
      return valuesOf(closes_at).flatMap((ms, index) =>
        ms ? [{ lagMs: Number(changed_at) - Number(ms), count: Number(each[index]) }] : [],
      );
    };
    return new ChangedOrders(n, false, lags, undefined, onlyCounted);
  }

  /** `kind`: of the deadline that the new status has, if it has one. */
  static read(columns: ChangedColumns, kind: string | undefined): ChangedOrders {
    const ids = Uuids.sent(columns.ids);
    const changedAtMs = Number(columns.changed_at);
    const lags = (): SameLag[] =>
      valuesOf(columns.closes_at).flatMap((ms) =>
        ms ? [{ lagMs: changedAtMs - Number(ms), count: 1 }] : [],
      );
    return new ChangedOrders(columns.n, kind !== undefined, lags, ids, () => {
      const [versions, closesAt, dueAt] = [
        valuesOf(columns.versions),
        valuesOf(columns.closes_at),
        valuesOf(columns.due_at),
      ];
      const changedAt = new Date(changedAtMs);
      return ids.each.map((orderId, index) => ({
        orderId,
        version: Number(versions[index]),
        closesAt: instant(closesAt[index]),
        changedAt,
        deadline: deadlineAt(kind, instant(dueAt[index])),
      }));
    });
  }

  get orderIds(): Uuids {
    return this.ids ?? onlyCounted();
  }

  get each(): ChangedOrder[] {
    return (this.#each ??= this.takeApart());
  }
}

const onlyCounted = (): never => {
  throw new Error('Orders that were only counted: which they are was not read');
};

const valuesOf = (column: string | null | undefined): string[] => column?.split(',') ?? [];

const instant = (ms: string | undefined): Date | null => (ms ? new Date(Number(ms)) : null);

const deadlineAt = (kind: string | undefined, dueAt: Date | null): ChangedOrder['deadline'] =>
  kind && dueAt ? { kind, dueAt } : undefined;
