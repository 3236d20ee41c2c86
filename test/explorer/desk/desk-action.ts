/** What operators do about an order's money, and what becomes of its refunds where they are made. */
export type DeskAction =
  | 'settle refund'
  | 'retry refund'
  | 'refund held'
  | 'keep held'
  | 'accept held'
  | 'settle order'
  | 'operator cancels'
  | 'reconcile'
  /** The provider tells of the newest refund that we have asked it for; or, later, that it came back. */
  | 'tell of refund'
  | 'refund bounces';
