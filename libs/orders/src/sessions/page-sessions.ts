import { createHash, randomBytes } from 'node:crypto';
import { inTransaction, queryRows } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { ADVISORY_LOCKS } from '../order/advisory-locks';
import { orderNotFound } from '../order/errors';

export type SessionPage = 'checkout' | 'console';

/** What a session lets its holder do, and until when. */
export interface PageSession {
  readonly id: string;
  readonly page: SessionPage;
  /** The customer of a checkout, the operator of a console. */
  readonly subject: string;
  readonly scopes: readonly string[];
  /** The one order of a checkout; null for a console. */
  readonly orderId: string | null;
  /** When it was opened; null while nobody has traded its code. */
  readonly openedAt: Date | null;
  readonly endsAt: Date;
}

/** How many were ended. */
export interface RevokedSessions {
  readonly sessions: number;
  /** That nobody had used. */
  readonly links: number;
}

export interface Invitation {
  readonly page: SessionPage;
  readonly subject: string;
  readonly scopes: readonly string[];
  readonly orderId?: string;
  /** How long the code can be traded. */
  readonly codeLifetimeMs: number;
  /** How long the session lasts, from now. */
  readonly lifetimeMs: number;
}

/** 256 random bits: nobody guesses it, so a plain hash of it is as good as a slow one. */
const SECRET_BYTES = 32;
const SECRET = /^[A-Za-z0-9_-]{43}$/;
const COLUMNS = `id, page, subject, scopes, order_id AS "orderId", opened_at AS "openedAt",
  ends_at AS "endsAt"`;
const IS_OPEN = 'opened_at IS NOT NULL AND revoked_at IS NULL AND ends_at > now()';
/** SQL: somebody's (`$1`) on every page, by the index on both: links of a month are many. */
export const SESSIONS_OF = `page IN ('checkout', 'console') AND subject = $1`;
/** Others may be open where a list has so many; the console's caption says so. */
export const MAX_SESSIONS_LISTED = 200;

/** Beside others of the customer, and beside none who erases them: what that one has not seen would stay. */
const NOT_WHILE_ERASED = `
  SELECT pg_advisory_xact_lock_shared(${ADVISORY_LOCKS.links}, k) FROM hashtext($1) AS k`;
const INVITE = `
  INSERT INTO page_sessions (page, subject, scopes, order_id, code_hash, code_ends_at, ends_at)
  SELECT $1, $2, $3, $4, $5, now() + $6 * interval '1 ms', now() + $7 * interval '1 ms'
   WHERE $4::uuid IS NULL OR EXISTS (SELECT FROM orders WHERE id = $4 AND customer_id = $2 OFFSET 0)
  RETURNING id, code_ends_at AS "codeEndsAt"`;

/**
 * Sessions of the pages this API serves. A link carries a code that is good once; the browser gets a
 * token for it, which an HttpOnly cookie holds. They live in Postgres, so that each process knows
 * them and an operator can end one.
 */
@Injectable()
export class PageSessions {
  constructor(@Inject(DATABASE) private readonly dataSource: DataSource) {}

  /**
   * A code for one link; traded once, by {@link open}.
   * @throws {LastcallError} order_not_found: the order is none of this customer's, who may be being erased
   */
  async invite(invitation: Invitation): Promise<{ code: string; codeEndsAt: Date; id: string }> {
    const { page, subject, scopes, orderId = null, codeLifetimeMs, lifetimeMs } = invitation;
    const code = newSecret();
    const [row] = await inTransaction(this.dataSource, async (tx) => {
      if (orderId !== null) await tx.rows(NOT_WHILE_ERASED, [subject]);
      return tx.rows<{ id: string; codeEndsAt: Date }>(INVITE, [
        ...[page, subject, scopes, orderId, hashOf(code), codeLifetimeMs, lifetimeMs],
      ]);
    });
    if (!row) throw orderNotFound();
    return { code, ...row };
  }

  /** Trades a code for a token: once, in time, at its own page; otherwise undefined. */
  async open(
    page: SessionPage,
    code: string,
  ): Promise<{ token: string; session: PageSession } | undefined> {
    if (!SECRET.test(code)) return undefined;
    const token = newSecret();
    const [session] = await queryRows<PageSession>(
      this.dataSource,
      `UPDATE page_sessions SET token_hash = $3, opened_at = now(), code_hash = NULL
        WHERE code_hash = $2 AND page = $1 AND code_ends_at > now() AND revoked_at IS NULL
          AND ends_at > now()
       RETURNING ${COLUMNS}`,
      [page, hashOf(code), hashOf(token)],
    );
    return session && { token, session };
  }

  /** Opens one without a code, for whoever has shown otherwise who they are. */
  async openFor({
    page,
    subject,
    scopes,
    lifetimeMs,
  }: Omit<Invitation, 'codeLifetimeMs' | 'orderId'>): Promise<{
    token: string;
    session: PageSession;
  }> {
    const token = newSecret();
    const [session] = await queryRows<PageSession>(
      this.dataSource,
      `INSERT INTO page_sessions (page, subject, scopes, token_hash, opened_at, ends_at)
       VALUES ($1, $2, $3, $4, now(), now() + $5 * interval '1 ms') RETURNING ${COLUMNS}`,
      [page, subject, scopes, hashOf(token), lifetimeMs],
    );
    if (!session) throw new Error('Postgres has answered nothing to an INSERT ... RETURNING');
    return { token, session };
  }

  /** The session of a token, while it is open. */
  async find(page: SessionPage, token: string): Promise<PageSession | undefined> {
    if (!SECRET.test(token)) return undefined;
    const [session] = await queryRows<PageSession>(
      this.dataSource,
      `SELECT ${COLUMNS} FROM page_sessions WHERE token_hash = $2 AND page = $1 AND ${IS_OPEN}`,
      [page, hashOf(token)],
    );
    return session;
  }

  /** Those that are open now, the newest first; of a page with very many, the newest 200. */
  async list(page: SessionPage): Promise<PageSession[]> {
    return queryRows<PageSession>(
      this.dataSource,
      `SELECT ${COLUMNS} FROM page_sessions WHERE page = $1 AND ${IS_OPEN}
        ORDER BY opened_at DESC LIMIT ${MAX_SESSIONS_LISTED}`,
      [page],
    );
  }

  /** Ends sessions at once, and links that nobody has used. A link that had ended by itself is counted nowhere. */
  async revoke(page: SessionPage, which: { id: string } | 'all'): Promise<RevokedSessions> {
    const rows = await queryRows<{ isOpen: boolean; isLink: boolean }>(
      this.dataSource,
      `UPDATE page_sessions SET revoked_at = now()
        WHERE page = $1 AND revoked_at IS NULL AND ends_at > now() AND ($2::uuid IS NULL OR id = $2)
       RETURNING opened_at IS NOT NULL AS "isOpen", code_hash IS NOT NULL AND code_ends_at > now() AS "isLink"`,
      [page, which === 'all' ? null : which.id],
    );
    const sessions = rows.filter(({ isOpen }) => isOpen).length;
    return { sessions, links: rows.filter(({ isLink }) => isLink).length };
  }
}

const newSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url');
const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();
