import { onceFree } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { ConfigError, type Settings, SETTINGS } from '../config';
import { onDataSource } from '../order/order-rows';

/** What only a payment's own provider can bring to its end. */
export interface OpenWork {
  readonly provider: string;
  /** Payments that can be paid there, or whose end is not known. */
  readonly openPayments: number;
  /** Refunds that are still to be made. */
  readonly unfinishedRefunds: number;
  /**
   * Payments with money left that may have to go back: of orders that are paid or shipped, or that
   * waits for an operator or, unless the order is completed, for the buyer's bank.
   */
  readonly refundable: number;
}

/** Names are few and payments are many: from name to name along the index. */
const NAMES = `
  WITH RECURSIVE names AS (
    (SELECT provider FROM payments ORDER BY provider LIMIT 1)
    UNION ALL
    SELECT (SELECT provider FROM payments p WHERE p.provider > n.provider ORDER BY provider LIMIT 1)
      FROM names n WHERE n.provider IS NOT NULL
  )
  SELECT provider FROM names WHERE provider IS NOT NULL AND provider <> ALL ($1::text[])`;

/** Each balance is reckoned by itself, and none for a completed order without money on hold (ADR 43). */
const WORK = `
  SELECT count(*) FILTER (WHERE p.status = 'open')::int AS "openPayments",
         coalesce(sum(r.unfinished), 0)::int AS "unfinishedRefunds",
         count(*) FILTER (WHERE p.captured_amount > 0
           AND (p.hold_reason IS NOT NULL OR o.status <> 'completed')
           AND EXISTS (
             SELECT FROM payment_balances b
              WHERE b.payment_id = p.id AND (b.in_dispute > 0
                OR b.captured > b.refunded + b.refunding + b.disputed
                   AND (p.hold_reason IS NOT NULL OR o.status IN ('paid', 'shipped')))
             OFFSET 0))::int AS refundable
    FROM payments p JOIN orders o ON o.id = p.order_id
   CROSS JOIN LATERAL (
     SELECT count(*) AS unfinished FROM refunds
      WHERE payment_id = p.id AND status NOT IN ('succeeded', 'canceled')) r
   WHERE p.provider = $1`;

/** Finds providers that are switched off while payments still need them. */
@Injectable()
export class StrandedWork {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    @Inject(SETTINGS) private readonly config: Settings,
  ) {}

  async find(): Promise<OpenWork[]> {
    const sql = onDataSource(this.dataSource);
    const off = await sql.rows<{ provider: string }>(NAMES, [this.config.PAYMENT_PROVIDERS]);
    const found: OpenWork[] = [];
    for (const { provider } of off) {
      const [work] = await sql.rows<Omit<OpenWork, 'provider'>>(WORK, [provider]);
      const one = { provider, ...(work as Omit<OpenWork, 'provider'>) };
      if (one.openPayments + one.unfinishedRefunds + one.refundable > 0) found.push(one);
    }
    return found;
  }

  /**
   * For whoever is about to serve: nobody would ask these providers, and send refunds there.
   * @throws {ConfigError} naming each provider, what is open there, and the setting to mend
   */
  async refuse(): Promise<void> {
    const found = await onceFree(this.dataSource, () => this.find());
    if (found.length === 0) return;
    const lines = found.map((work) => `  ${work.provider}: ${describeWork(work)}`);
    throw new ConfigError(
      `Payments need a provider that is not switched on:\n${lines.join('\n')}\n` +
        `Set ${mended(this.config, found)} until \`lastcall doctor\` finds nothing open there`,
    );
  }
}

export function describeWork({ openPayments, unfinishedRefunds, refundable }: OpenWork): string {
  const parts = [
    [openPayments, 'open payments'],
    [unfinishedRefunds, 'unfinished refunds'],
    [refundable, 'captured payments that may have to be refunded'],
  ] as const;
  return parts
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${count} ${what}`)
    .join(', ');
}

/** The setting under which nothing is stranded. */
export function mended(config: Settings, found: readonly OpenWork[]): string {
  const names = [...config.PAYMENT_PROVIDERS, ...found.map(({ provider }) => provider)];
  return `PAYMENT_PROVIDERS=${names.join(',')}`;
}
