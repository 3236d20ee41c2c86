/**
 * SQL over an order's row `o`: a payment of it is open at the provider. OFFSET 0: looked up by the order's id
 * whatever the statistics, and never joined, nor read as a whole.
 */
export const HAS_OPEN_PAYMENT = `EXISTS (
  SELECT FROM payments p WHERE p.order_id = o.id AND p.status = 'open' OFFSET 0)`;
