import type { Action } from './action';

/** A kind of change, of whatever subjects; the button says `label`. */
export type Exit = Omit<Action, 'onDone' | 'ids'> & { readonly label: string };

const exit = (label: string, action: string, title: string, about: string): Exit => ({
  ...{ label, action, title, about },
});

const CLOSE = exit('Close', 'force_close', 'Close by force', 'It closes now, its stock goes back.');
const EXTEND = exit(
  ...(['Extend', 'extend', 'Give ten more minutes'] as const),
  'Its customer has ten minutes more to pay.',
);
const CANCEL = exit('Cancel', 'cancel', 'Cancel', 'Its stock and all of its money go back.');
const SETTLE = (['closed', 'paid'] as const).map((as) =>
  exit(
    ...([`Settle as ${as}`, `settle_${as}`, `Settle as ${as}`] as const),
    'Its provider will never answer. Money that comes later is handled as late.',
  ),
);

/** What can be done to an order, by its status. */
export const OF_ORDERS: Readonly<Record<string, readonly Exit[]>> = {
  pending_payment: [CLOSE, EXTEND],
  paid: [CANCEL],
  closing: SETTLE,
};

/** The ends of a wait that a person can bring about here; the others have a command or a bank. */
export const OF_WAITS: Readonly<Record<string, readonly Exit[]>> = {
  closing: SETTLE,
  payment_unended: SETTLE.slice(0, 1),
  payment_on_hold: [
    exit(
      ...(['Refund', 'refund_money', 'Refund this money'] as const),
      'All of it goes back; an order that it had paid is canceled.',
    ),
    exit(
      ...(['Keep', 'keep_money', 'Keep this money'] as const),
      'It stays with the shop, and the order stays as it is.',
    ),
    exit(
      ...(['Accept', 'accept_money', 'Accept this money'] as const),
      'It pays its closed order after all, if stock can be had.',
    ),
    exit(
      ...(['Correct', 'correct_money', 'Correct this money'] as const),
      'What its provider has told last is what was taken, instead of what was recorded; its order stays as it is.',
    ),
  ],
  webhook_held: [
    exit('Replay', 'replay_webhook', 'Replay this notice', 'It is applied once more.'),
    exit('Dismiss', 'dismiss_webhook', 'Dismiss this notice', 'It will have no effect.'),
  ],
  deadline_held: [
    exit('Release', 'release_deadline', 'Release this deadline', 'It is handled again, now.'),
  ],
  webhook_endpoint_off: [
    exit(
      ...(['Switch on', 'switch_endpoint_on', 'Switch this endpoint on'] as const),
      'It hears of everything that has waited, and of what happens from now on.',
    ),
  ],
  delivery_dead: [
    exit(
      ...(['Send again', 'redeliver_webhooks', 'Send its webhooks again'] as const),
      'Those that were given up are tried for three days anew.',
    ),
  ],
  refund_in_attention: [
    exit('Retry', 'retry_refund', 'Retry this refund', 'It is sent again, with a new key.'),
    {
      ...exit(
        ...(['Settle as done', 'finish_refund', 'Settle as done'] as const),
        'Its money went back by another way than its provider: name that in the reason. Nothing is sent any more.',
      ),
      takesAmount: true,
    },
  ],
};
