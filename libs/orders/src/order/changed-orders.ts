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
  readonly ids: string | null;
  readonly versions: string | null;
  readonly closes_at: string | null;
  /** Only of a status that has a deadline. */
  readonly due_at?: string | null;
  readonly changed_at: string;
}

/** Orders that one statement has changed, as they were read: taken apart only for who looks at each. */
export class ChangedOrders {
  static readonly none = ChangedOrders.of([]);
  #each: ChangedOrder[] | undefined;

  private constructor(
    readonly orderIds: Uuids,
    /** False: none of them has a deadline from now on. */
    readonly haveDeadlines: boolean,
    /** How long after its deadline each was changed that had one, in milliseconds. */
    readonly lagsMs: () => readonly number[],
    private readonly takeApart: () => ChangedOrder[],
  ) {}

  static of(orders: readonly ChangedOrder[]): ChangedOrders {
    const lagsMs = (): number[] =>
      orders.flatMap(({ closesAt, changedAt }) =>
        closesAt ? [changedAt.getTime() - closesAt.getTime()] : [],
      );
    const ids = Uuids.of(orders.map(({ orderId }) => orderId));
    return new ChangedOrders(
      ids,
      orders.some(({ deadline }) => deadline),
      lagsMs,
      () => [...orders],
    );
  }

  /** `kind`: of the deadline that the new status has, if it has one. */
  static read(columns: ChangedColumns, kind: string | undefined): ChangedOrders {
    const ids = Uuids.aggregated(columns.ids, columns.n);
    const changedAtMs = Number(columns.changed_at);
    const lagsMs = (): number[] =>
      valuesOf(columns.closes_at).flatMap((ms) => (ms ? [changedAtMs - Number(ms)] : []));
    return new ChangedOrders(ids, kind !== undefined, lagsMs, () => {
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

  get count(): number {
    return this.orderIds.count;
  }

  get each(): ChangedOrder[] {
    return (this.#each ??= this.takeApart());
  }
}

const valuesOf = (column: string | null | undefined): string[] => column?.split(',') ?? [];

const instant = (ms: string | undefined): Date | null => (ms ? new Date(Number(ms)) : null);

const deadlineAt = (kind: string | undefined, dueAt: Date | null): ChangedOrder['deadline'] =>
  kind && dueAt ? { kind, dueAt } : undefined;
