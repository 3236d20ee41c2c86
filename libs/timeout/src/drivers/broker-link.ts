import { withTimeLimit } from '../time-limit';
import { AlarmStoreError } from './alarm-store.error';

const GOODBYE_LIMIT_MS = 500;
/** Between tries to hear a broker that is away, in turn; the last one again and again. */
const RETRY_MS = [100, 200, 400, 800] as const;

/** How a driver talks to its broker. */
export interface Broker<Link> {
  /** As its operators call it. */
  readonly name: string;
  /** Opens a connection; `onLost` is told, once or more, when it has ended by itself. */
  readonly open: (onLost: (why?: Error) => void) => Promise<Link>;
  /** Without a word: the other side may be silent. */
  readonly hangUp: (link: Link) => unknown;
  /** Ends when the broker has heard everything that was said. */
  readonly goodbye: (link: Link) => Promise<unknown>;
}

/** The connection that calls are made over: the first one opens it, one that fails ends it. */
export class CallingLink<Link> {
  #opening: Promise<Link> | undefined;

  constructor(
    private readonly broker: Broker<Link>,
    private readonly limitMs: number,
  ) {}

  /** @throws {AlarmStoreError} also when the broker is silent for the time of a call */
  async ask<T>(call: (link: Link) => Promise<T>): Promise<T> {
    const { name } = this.broker;
    const opening: Promise<Link> = (this.#opening ??= this.broker.open(() =>
      this.#forget(opening),
    ));
    try {
      return await withTimeLimit(opening.then(call), this.limitMs, `${name} did not answer`);
    } catch (error) {
      // Whatever it was: the next call begins with a new connection.
      this.#forget(opening);
      hangUp(this.broker, opening);
      throw new AlarmStoreError(`The alarm store (${name}) did not take a call`, error);
    }
  }

  close(): Promise<void> {
    return sayGoodbye(this.broker, this.#opening);
  }

  #forget(opening: Promise<Link>): void {
    if (this.#opening === opening) this.#opening = undefined;
  }
}

export interface ListeningLinkOptions<Link> {
  /**
   * Asks the broker for what is due; what it brings may come before this resolves. `lost` is to be
   * told where the connection stays and nothing will be brought over it any more.
   */
  readonly listen: (link: Link, lost: (why: Error) => void) => Promise<void>;
  readonly onError: (error: Error) => void;
}

/** The connection that a broker brings alarms over: opened again for as long as it takes. */
export class ListeningLink<Link> {
  #opening: Promise<Link> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #failures = 0;
  #isStopped = false;

  constructor(
    private readonly broker: Broker<Link>,
    private readonly options: ListeningLinkOptions<Link>,
  ) {}

  start(): void {
    void this.#listen();
  }

  /** Nothing is opened any more. What was brought may still be answered, until it is closed. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#retry);
  }

  close(): Promise<void> {
    return sayGoodbye(this.broker, this.#opening);
  }

  async #listen(): Promise<void> {
    const lost = (why?: Error): void => this.#lost(opening, why);
    const opening = (this.#opening = this.broker.open(lost));
    try {
      await this.options.listen(await opening, lost);
      this.#failures = 0;
    } catch (error) {
      lost(error as Error);
    }
  }

  #lost(opening: Promise<Link>, why?: Error): void {
    // What was given up says so once more when it ends.
    if (this.#isStopped || this.#retry || opening !== this.#opening) return;
    if (why) this.options.onError(why);
    this.#opening = undefined;
    hangUp(this.broker, opening);
    const retryMs = RETRY_MS[Math.min(this.#failures++, RETRY_MS.length - 1)];
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      void this.#listen();
    }, retryMs);
  }
}

function hangUp<Link>(broker: Broker<Link>, opening: Promise<Link> | undefined): void {
  void opening?.then(broker.hangUp).catch(() => undefined);
}

async function sayGoodbye<Link>(
  broker: Broker<Link>,
  opening: Promise<Link> | undefined,
): Promise<void> {
  if (!opening) return;
  const ended = opening.then(broker.goodbye);
  const inTime = withTimeLimit(ended, GOODBYE_LIMIT_MS, 'No goodbye');
  await inTime.catch(() => hangUp(broker, opening));
}
