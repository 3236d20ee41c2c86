import { queryRows } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { BACKGROUND } from '../data-source';
import { MOVED_ON } from '../order/deadline-table';
import { HAS_OPEN_PAYMENT } from '../order/open-payment';

/** Whoever releases one has it; the next turn finds what is left. */
const BATCH = 1_000;

/**
 * Takes out of the table what is held of an order, refund or webhook that has moved on without it, as its deadline
 * would have found nothing to do: nobody needs to release it any more. Not by whoever moves it on, who would have to
 * take what is held before the order, or wait for it behind. Of a subject that is not there an operator has to know,
 * and of an order whose payment is still open at the provider, which its `closing` is to end.
 */
@Injectable()
export class ForgetHeld {
  constructor(@Inject(BACKGROUND) private readonly dataSource: DataSource) {}

  async runOnce(): Promise<{ forgotten: number }> {
    const rows = await queryRows(this.dataSource, FORGET);
    return { forgotten: rows.length };
  }
}

/** A host's subject, of whatever kind, is the host's to forget. */
const FORGET = `
  WITH over AS MATERIALIZED (
    SELECT kind, subject_id FROM held_deadlines h
     WHERE (${MOVED_ON})
       AND NOT EXISTS (SELECT FROM timeout_subjects s WHERE s.id = h.subject_id OFFSET 0)
       AND NOT (kind = 'closing' AND EXISTS (
             SELECT FROM orders o WHERE o.id = h.subject_id AND ${HAS_OPEN_PAYMENT} OFFSET 0))
     LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
  DELETE FROM held_deadlines h USING over
   WHERE h.kind = over.kind AND h.subject_id = over.subject_id
  RETURNING 1`;
