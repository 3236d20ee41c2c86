import { every, type Turns } from '@app/timeout';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { forgetInBatches, RETENTION_EVERY_MS } from '../forget-in-batches';
import { TARGET_PARTS, type TargetParts } from './target-parts';

/** What somebody has dismissed tells, beside the word for it, of money that is in no other table. */
const FORGOTTEN_WEBHOOKS = `status = 'processed' AND result IS DISTINCT FROM 'dismissed'`;

/** By ctid and by the key, as retention of the order module's own tables is. */
const forgetWebhooks = (schema: string): string => `
  WITH old AS MATERIALIZED (
    SELECT ctid AS place, id FROM "${schema}".target_webhooks
     WHERE received_at < now() - interval '7 days' AND ${FORGOTTEN_WEBHOOKS}
     ORDER BY received_at LIMIT $1 FOR UPDATE SKIP LOCKED
  ), gone AS (
    DELETE FROM "${schema}".target_webhooks WHERE ctid = ANY (ARRAY(SELECT place FROM old))
       AND CASE WHEN id IS NOT NULL THEN id IN (SELECT id FROM old) END
    RETURNING 1)
  SELECT count(*)::int AS n FROM gone`;

/**
 * Forgets webhooks that came a week ago and are settled: until then an event is known by its id. Money is
 * known for good, by the ledger: what is told of it later than that changes nothing (ADR 36).
 */
@Injectable()
export class TargetRetention implements OnApplicationBootstrap, BeforeApplicationShutdown {
  #turns: Turns | undefined;

  constructor(@Inject(TARGET_PARTS) private readonly parts: TargetParts) {}

  /** Several processes share the rows by SKIP LOCKED. Once it `stops`, the statement under way is the last. */
  async runOnce(stops: () => boolean = () => false): Promise<{ readonly webhooks: number }> {
    const { runtime } = this.parts;
    const rowsOf = (sql: string, params: readonly number[]) =>
      runtime.rows<{ n: number }>(sql, params);
    const statements = [forgetWebhooks(runtime.schema)];
    return { webhooks: await forgetInBatches(rowsOf, statements, stops) };
  }

  onApplicationBootstrap(): void {
    const { runtime, telemetry } = this.parts;
    if (!runtime.rings) return;
    const onError = (error: unknown): void => telemetry.failed('retention', error);
    const runOnce = (stopping: AbortSignal) => this.runOnce(() => stopping.aborted);
    this.#turns = every(RETENTION_EVERY_MS, runOnce, { onError });
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#turns?.stop();
  }
}
