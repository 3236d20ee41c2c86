import { inTransaction, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { trying } from '../order/advisory-locks';
import { BACKGROUND } from '../data-source';
import { nextWindow, type TxWindow, WINDOW_LIMIT_MS } from './event-window';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';
import {
  CONTENT,
  digestOf,
  HISTORIES,
  type History,
  isSignedWith,
  NEW_SALTS,
  type Seal,
  SEAL_COLUMNS,
  SEAL_KEY,
  type Sealed,
  signatureOf,
} from './seal';

/** Rows that one seal covers, unless one transaction has more: how exactly a break is placed. */
const WINDOW_ROWS = 1_000;
/** Windows of one run, of each history: what a run reads is bounded, what is left waits for the next. */
const MAX_WINDOWS = 100;
const ANOTHER_LEADS = 'another leads';

/**
 * Lengthens the chains of seals over the history (docs/adr/0026), behind those who write it: they wait
 * for nobody and know nothing of it. A window is sealed when all transactions before its end are over,
 * as the event relay reads them, so nothing comes to it later.
 */
@Injectable()
export class SealHistory {
  constructor(
    @Inject(BACKGROUND) private readonly dataSource: DataSource,
    @Inject(SEAL_KEY) private readonly key: string | null,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  /** The newest seal of each history that this process has seen. */
  readonly #seen = new Map<History, Seal>();
  #isBehind = false;

  /** Whether the last run left something that can be sealed: at the next run's usual time there would be more. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  /**
   * Seals what there is, or one window of each history while `givesWay` says so. One process at a time: who finds
   * another at it leaves all to them, and so is not in their way between two windows.
   */
  async runOnce(givesWay = (): boolean => false, windowRows = WINDOW_ROWS): Promise<Seal[]> {
    const made: Seal[] = [];
    let isBehind = (this.#isBehind = false);
    for (const history of HISTORIES) {
      for (let i = 1; ; i++) {
        const seal = await inTransaction(this.dataSource, (tx) =>
          this.#sealNext(tx, history, windowRows),
        );
        if (seal === ANOTHER_LEADS) return made;
        if (!seal) break;
        made.push(seal);
        this.telemetry.sealed(history, seal.number, seal.digest);
        if (i < MAX_WINDOWS && !givesWay()) continue;
        isBehind = true;
        break;
      }
    }
    this.#isBehind = isBehind;
    return made;
  }

  async #sealNext(
    tx: Transaction,
    history: History,
    windowRows: number,
  ): Promise<Seal | typeof ANOTHER_LEADS | undefined> {
    // Erasing takes it, too: no salt is made for what is being erased.
    const [leader] = await tx.rows<{ leads: boolean }>(`SELECT ${trying('seals')} AS leads`);
    if (!leader?.leads) return ANOTHER_LEADS;
    const last = await newestSeal(tx, history);
    await this.#expectSeen(tx, history);
    const window = await nextWindow(tx, history, last?.untilTx ?? '0', windowRows);
    // A key that is new vouches for all that was sealed before it.
    const isUnsigned = last !== undefined && this.key !== null && !isSignedWith(this.key, last);
    if (!window && !isUnsigned) return undefined;
    return this.#seal(tx, history, last, window ?? nothingAfter(last as Seal));
  }

  async #seal(
    tx: Transaction,
    history: History,
    last: Seal | undefined,
    window: TxWindow,
  ): Promise<Seal> {
    const bounds = [window.fromTx, window.untilTx];
    await tx.limit(WINDOW_LIMIT_MS);
    for (const sql of NEW_SALTS[history]) await tx.rows(sql, bounds);
    const [sealed] = await tx.rows<Sealed & { sealedAt: Date }>(
      `SELECT *, now()::timestamptz(3) AS "sealedAt" FROM (${CONTENT(history)}) AS content`,
      bounds,
    );
    const number = (last?.number ?? 0) + 1;
    const facts = { history, number, ...window, ...(sealed as Sealed & { sealedAt: Date }) };
    const linked = { ...facts, previous: last?.digest ?? '' };
    const digest = digestOf(linked);
    const signature = this.key === null ? null : signatureOf(this.key, digest);
    const seal = { ...linked, digest, signature };
    await write(tx, seal);
    tx.afterCommit(() => this.#seen.set(history, seal));
    return seal;
  }

  /** Seals that are taken away and made anew would hold again: whoever made them remembers the last. */
  async #expectSeen(tx: Transaction, history: History): Promise<void> {
    const seen = this.#seen.get(history);
    if (!seen) return;
    const sql = 'SELECT 1 FROM history_seals WHERE history = $1 AND number = $2 AND digest = $3';
    const found = await tx.rows(sql, [history, seen.number, seen.digest]);
    if (found.length > 0) return;
    this.#seen.delete(history);
    const { number, digest } = seen;
    this.telemetry.alert('a seal of the history is gone', { history, number, digest });
  }
}

async function newestSeal(tx: Transaction, history: History): Promise<Seal | undefined> {
  const [seal] = await tx.rows<Seal>(
    `SELECT ${SEAL_COLUMNS} FROM history_seals WHERE history = $1
      ORDER BY history_seals.number DESC LIMIT 1`,
    [history],
  );
  return seal;
}

const nothingAfter = ({ untilTx }: Seal): TxWindow => ({ fromTx: untilTx, untilTx });

async function write(tx: Transaction, seal: Seal): Promise<void> {
  await tx.rows(
    `INSERT INTO history_seals (history, number, from_tx, until_tx, rows, last_id, first_at, last_at,
                                content, sealed_at, previous, digest, signature)
     VALUES ($1, $2, $3::text::xid8, $4::text::xid8, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    [
      ...[seal.history, seal.number, seal.fromTx, seal.untilTx, seal.rows, seal.lastId],
      ...[seal.firstAt, seal.lastAt, seal.content, seal.sealedAt],
      ...[seal.previous, seal.digest, seal.signature],
    ],
  );
}
