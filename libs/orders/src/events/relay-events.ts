import { inTransaction, queryRows, type Transaction, withTimeLimit } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { trying } from '../order/advisory-locks';
import { BACKGROUND } from '../data-source';
import { currentWindow, type Window } from './event-window';
import { RELAY_IS_STUCK } from '../order/event-tx';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';
import { EVENT_STREAM, EventsLost, type EventStream, type RelayedEvent } from './event-stream';

/** Events of a window, unless one transaction has more. */
const WINDOW = 5_000;
/** The most of a window that is read at once: each further reading reads all of it. */
const MOST = 20_000;
/** What the stream is given at once: Redis serves nobody else meanwhile, which is about a millisecond. */
const SLICE = 250;
/**
 * Then what the stream has taken is noted, and the rest of the batch begins anew: its transaction is
 * idle meanwhile, and ends after seconds. One that never got to its end would send the same for ever.
 */
const APPENDING_MS = 1_000;
/** For one slice, whoever's the stream is. */
const SLICE_LIMIT_MS = 1_600;
/** A stream that is lost as a whole is filled again no sooner after the last time. */
const FILL_EVERY_S = 600;
/** Rounds one run may take, so that a run is bounded. */
const MAX_ROUNDS = 200;

/** How far the stream has been given the history, and where in the stream the last of it stands. */
interface Cursor extends Window {
  readonly stream_place: string | null;
}

interface Taken {
  readonly count: number;
  readonly place: string | null;
}

/**
 * Relays order events to a Redis Stream: at least once, in order for each order.
 *
 * Identity values are handed out before the commit, so reading "ids above the last" would lose
 * events that commit late. The relay reads by transaction instead: windows of transactions that
 * are all finished (below the snapshot's xmin), ordered by id within a window. Two changes of one
 * order take turns on its row, so the later one has the greater id; and it carries no smaller
 * transaction than the one before it (`EVENT_TX`), so it is never in an earlier window. Transactions
 * are told apart by their ids in the cluster where the history began (`event_tx` in the database).
 *
 * What Redis has lost of the stream, by a failover or a restore, is sent again as soon as a worker looks.
 */
@Injectable()
export class RelayEvents {
  /** The filling behind which it was told that events are lost. */
  #toldSince: string | undefined;

  constructor(
    @Inject(BACKGROUND) private readonly dataSource: DataSource,
    @Inject(EVENT_STREAM) private readonly stream: EventStream,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  /**
   * Relays what there is, or one batch while `givesWay` says so. Rejects when the stream or the
   * database is away; nothing is lost then.
   */
  async runOnce(givesWay = (): boolean => false): Promise<{ relayed: number }> {
    let relayed = 0;
    await this.#rememberStuck();
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const count = await inTransaction(this.dataSource, (tx) => this.#relayBatch(tx));
      if (count === undefined) break;
      relayed += count;
      if (givesWay()) break;
    }
    return { relayed };
  }

  /** As long as it can be seen: the cluster's transactions catch up with the history. */
  async #rememberStuck(): Promise<void> {
    await queryRows(
      this.dataSource,
      // What was seen before a rewind that it had to wait for is not so any more.
      `UPDATE relay_cursor SET stuck_at = now() WHERE stuck_at IS NULL AND ${RELAY_IS_STUCK}
          AND tx_ahead = (SELECT tx_ahead FROM relay_cursor)`,
    );
  }

  /** Undefined when everything is relayed, or when another process is relaying. */
  async #relayBatch(tx: Transaction): Promise<number | undefined> {
    const [leader] = await tx.rows<{ leads: boolean }>(`SELECT ${trying('relay')} AS leads`);
    if (!leader?.leads) return undefined;
    const [row] = await tx.rows<Cursor>(
      'SELECT tx_from, tx_until, last_id, stream_place FROM relay_cursor',
    );
    const cursor = row as Cursor;
    const window = await currentWindow(tx, cursor, WINDOW - 1);
    // Nothing to relay writes nothing: an idle shop costs no transaction ids.
    if (!window) return this.#lookForLost(tx, cursor);
    const events = await readWindow(tx, window);
    const taken = await this.#append(cursor.stream_place, events);
    if (taken instanceof EventsLost) return this.#beginAgain(tx, cursor, taken);
    const last = events[taken.count - 1];
    const isThrough = taken.count === events.length && taken.count < MOST;
    await tx.rows(
      `UPDATE relay_cursor SET tx_from = $1::text::xid8, tx_until = $2::text::xid8, last_id = $3,
              stream_place = $4, relayed_at = now()`,
      isThrough
        ? [window.tx_until, window.tx_until, 0, taken.place]
        : [window.tx_from, window.tx_until, last?.id ?? 0, taken.place],
    );
    return taken.count;
  }

  /** Also where nothing new comes for hours. Undefined where all is there. */
  async #lookForLost(tx: Transaction, cursor: Cursor): Promise<number | undefined> {
    if (cursor.stream_place === null) return undefined;
    // One that cannot tell is another than the one that came so far: commands go by that.
    if (!this.stream.appendBehind) {
      await tx.rows('UPDATE relay_cursor SET stream_place = NULL');
      return undefined;
    }
    const taken = await this.#append(cursor.stream_place, []);
    return taken instanceof EventsLost ? this.#beginAgain(tx, cursor, taken) : undefined;
  }

  /** How many of them, from the first, the stream has taken in its time: none of none, where all is there. */
  async #append(
    behind: string | null,
    events: readonly RelayedEvent[],
  ): Promise<Taken | EventsLost> {
    const { stream } = this;
    // One of the shop's own cannot tell what is lost, and may refuse to take nothing.
    if (events.length === 0 && !stream.appendBehind) return { count: 0, place: null };
    const untilMs = performance.now() + APPENDING_MS;
    let [count, place] = [0, behind];
    do {
      const slice = events.slice(count, count + SLICE);
      const appending = stream.appendBehind
        ? stream.appendBehind(place, slice)
        : stream.append(slice).then(() => null);
      try {
        place = await withTimeLimit(appending, SLICE_LIMIT_MS, 'Nobody took the events');
      } catch (error) {
        if (error instanceof EventsLost) return error;
        throw error;
      }
      count += slice.length;
    } while (count < events.length && performance.now() < untilMs);
    return { count, place };
  }

  /**
   * From before what the stream has lost: behind its newest event, less a window, as what is in one window
   * goes by id. Where all is lost it is filled again.
   */
  async #beginAgain(tx: Transaction, cursor: Cursor, { last, kept }: EventsLost): Promise<number> {
    const [newest] = last
      ? await tx.rows<{ tx: string }>(
          'SELECT tx FROM order_events WHERE order_id = $1 AND version = $2',
          [last.orderId, last.version],
        )
      : [];
    if (!newest && !(await this.#mayFill(tx))) return this.#goOn(tx);
    const [first] = await tx.rows<{ at: Date }>(
      `WITH sent AS MATERIALIZED (
         SELECT tx, at FROM order_events WHERE tx <= $1::text::xid8 ORDER BY tx DESC LIMIT $2
       ), first AS (SELECT tx, at FROM sent ORDER BY tx LIMIT 1)
       UPDATE relay_cursor c SET tx_from = least(c.tx_from, first.tx), tx_until = least(c.tx_from, first.tx),
              last_id = 0, stream_place = NULL
         FROM (SELECT) one LEFT JOIN first ON true
       RETURNING first.at`,
      newest ? [newest.tx, WINDOW] : [cursor.tx_until, Math.max(kept, WINDOW)],
    );
    const from = first?.at?.toISOString() ?? null;
    tx.afterCommit(() => this.telemetry.alert('events_sent_again', { from }));
    return 0;
  }

  /** Not so soon after the last time: of a Redis that evicts the stream, filling it is what it evicts it for. */
  async #mayFill(tx: Transaction): Promise<boolean> {
    const filled = await tx.rows(
      `UPDATE relay_cursor SET filled_at = now()
        WHERE filled_at IS NULL OR filled_at NOT BETWEEN now() - $1 * interval '1 s' AND now()
       RETURNING true`,
      [FILL_EVERY_S],
    );
    return filled.length > 0;
  }

  /** Behind what is lost, so that what is new comes. */
  async #goOn(tx: Transaction): Promise<number> {
    const [row] = await tx.rows<{ filled_at: Date }>(
      'UPDATE relay_cursor SET stream_place = NULL RETURNING filled_at',
    );
    const since = (row as { filled_at: Date }).filled_at.toISOString();
    // Once for each filling, though it may be lost many times a second.
    if (since !== this.#toldSince) {
      tx.afterCommit(() => this.telemetry.alert('events_lost', { since }));
    }
    this.#toldSince = since;
    return 0;
  }
}

async function readWindow(tx: Transaction, window: Window): Promise<RelayedEvent[]> {
  const rows = await tx.hot<Omit<RelayedEvent, 'at'> & { at: number }>(
    `SELECT id, order_id AS "orderId", version, type, from_status AS "from", to_status AS "to",
            by, reason, date_part('epoch', at) * 1000 AS at
       FROM order_events
      WHERE tx >= $1::text::xid8 AND tx < $2::text::xid8 AND id > $3
      ORDER BY id LIMIT $4`,
    [window.tx_from, window.tx_until, window.last_id, MOST],
  );
  return rows.map((row) => ({ ...row, at: new Date(Math.round(row.at)).toISOString() }));
}
