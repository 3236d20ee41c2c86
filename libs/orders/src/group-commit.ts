export interface GroupCommitOptions<Request> {
  /** The most requests one group may hold. */
  readonly maxGroup: number;
  /** Groups under way at once; each uses one connection. */
  readonly lanes: number;
  /** The most requests that may wait; the next one is refused by `overflow`. */
  readonly maxWaiting: number;
  readonly overflow: () => Error;
  /** Requests with the same key never share a group: the later one sees what the earlier did. */
  readonly keyOf?: (request: Request) => string;
  /** True for errors that splitting a group cannot cure, such as a database that is away. */
  readonly isEverybodys: (error: unknown) => boolean;
}

interface Waiting<Request, Result> {
  readonly request: Request;
  readonly key: string | undefined;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Carries out concurrent requests in groups, one transaction a group: those that arrive while a
 * commit is under way are taken together by the next. A lone request starts at once. A group that
 * fails is tried again in halves, so that one poisoned request cannot fail its neighbours.
 */
export class GroupCommit<Request, Result> {
  #waiting: Waiting<Request, Result>[] = [];
  #busyLanes = 0;
  #idle: (() => void)[] = [];

  constructor(
    /** Carries out a group and answers in its order; what rejects has had no effect. */
    private readonly carryOut: (requests: readonly Request[]) => Promise<readonly Result[]>,
    private readonly options: GroupCommitOptions<Request>,
  ) {}

  /** Resolves after the commit of the group that the request was part of. */
  submit(request: Request): Promise<Result> {
    if (this.#waiting.length >= this.options.maxWaiting) {
      return Promise.reject(this.options.overflow());
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, key: this.options.keyOf?.(request), resolve, reject });
      this.#fillLanes();
    });
  }

  /** Resolves when no request is waiting or under way. */
  async drained(): Promise<void> {
    if (this.#busyLanes === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #fillLanes(): void {
    if (this.#busyLanes >= this.options.lanes) return;
    this.#busyLanes += 1;
    // The group is cut after the requests that this turn of the event loop still brings.
    setImmediate(() => void this.#runLane());
  }

  async #runLane(): Promise<void> {
    while (this.#waiting.length > 0) await this.#settle(this.#cutGroup());
    this.#busyLanes -= 1;
    if (this.#busyLanes === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #cutGroup(): Waiting<Request, Result>[] {
    if (!this.options.keyOf) return this.#waiting.splice(0, this.options.maxGroup);
    const keys = new Set<string | undefined>();
    const group: Waiting<Request, Result>[] = [];
    const later: Waiting<Request, Result>[] = [];
    for (const waiting of this.#waiting) {
      if (group.length < this.options.maxGroup && !keys.has(waiting.key)) group.push(waiting);
      else later.push(waiting);
      keys.add(waiting.key);
    }
    this.#waiting = later;
    return group;
  }

  async #settle(group: readonly Waiting<Request, Result>[]): Promise<void> {
    try {
      const results = await this.carryOut(group.map(({ request }) => request));
      group.forEach(({ resolve }, index) => resolve(results[index] as Result));
    } catch (error) {
      if (group.length === 1 || this.options.isEverybodys(error)) {
        for (const { reject } of group) reject(error);
        return;
      }
      const middle = Math.ceil(group.length / 2);
      await this.#settle(group.slice(0, middle));
      await this.#settle(group.slice(middle));
    }
  }
}
