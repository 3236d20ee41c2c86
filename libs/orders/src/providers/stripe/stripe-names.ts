/** What marks a session or a refund as ours: metadata, which Stripe keeps for good. */
export const PAYMENT = 'lastcall_payment';
/** Which installation, where several share a Stripe account. */
export const INSTALLATION = 'lastcall_installation';
/** Of a refund: the key of the attempt, and the session of the payment. */
export const KEY = 'lastcall_key';
export const SESSION = 'lastcall_session';

/** A session does not tell when it was paid; the charge behind it does, and what went back. */
export const MONEY = 'payment_intent.latest_charge';
export const MONEY_AND_REFUNDS = `${MONEY}.refunds`;
