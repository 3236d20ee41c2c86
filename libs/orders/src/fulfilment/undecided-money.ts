import { isInDispute } from '../money/balance';
import { paysForNothing } from '../money/kept-payments';

/**
 * SQL over an order's row `o`: some of its money is on hold, or its buyer's bank has it. Nobody may ship it then, and
 * it is not canceled: its money could not be sent back. Hold and dispute have alerts of their own. The balance is
 * reckoned of payments alone that were ever disputed.
 */
export const IS_UNDECIDED = `EXISTS (
  SELECT FROM payments p
   WHERE p.order_id = o.id AND (p.hold_reason IS NOT NULL
      OR EXISTS (SELECT FROM money_movements m WHERE m.payment_id = p.id AND m.kind = 'disputed' OFFSET 0)
         AND ${isInDispute('p.id')} AND NOT ${paysForNothing('p.id')}) OFFSET 0)`;

/** SQL over an order's row `o`: when the newest hold or dispute of its money ended; NULL: there was none. */
export const DECIDED_AT = `(
  SELECT max(m.at) FROM money_movements m WHERE m.order_id = o.id
     AND m.kind IN ('released', 'dispute_won', 'dispute_lost', 'dispute_returned'))`;

/** SQL over an order's row `o`: until when it may be shipped at least after that. */
export const SHIPPABLE_UNTIL = `${DECIDED_AT}
  + least(interval '3 days', o.ship_within_ms * interval '1 millisecond')`;
