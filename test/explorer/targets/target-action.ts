/** What happens to an order of a shop's own table: by its buyer, its provider, the shop's own code, an operator. */
export type TargetOrderAction =
  | 'pay'
  | 'pay late'
  | 'pay wrongly'
  | 'notice again'
  | 'late fail'
  | 'refund by hand'
  | 'dispute'
  | 'tell of refund'
  | 'refund bounces'
  /** `close` of the module, for a customer who cancels. */
  | 'close'
  /** The shop opens another payment, and asks whether it may; or holds the order's row, and does not ask. */
  | 'open payment'
  | 'open payment unasked'
  /** By the shop's own code, which tells nobody. */
  | 'move on'
  /** Operators, by what the list of waits says and by what they see at the provider. */
  | 'settle order'
  | 'settle refund'
  | 'retry refund'
  | 'refund held'
  | 'keep held'
  | 'settle webhook';

/** What an actor does, to one of the program's orders where that matters. */
export type TargetAction = { readonly process: number } & (
  | { readonly do: 'advance'; readonly ms: number }
  | {
      readonly do:
        'crash' | 'ring' | 'sweep' | 'silence' | 'lose answers' | 'answer' | 'refuse refunds';
    }
  | { readonly do: TargetOrderAction; readonly order: number }
);
