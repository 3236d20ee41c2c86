import { announcedAt, checkoutStateOf, clockText, Countdown, type ShownOrder } from '@app/pages';
import { computed, effect, signal } from '@preact/signals';
import { render } from 'preact';
import { ask, readState, Refused } from '../shared/ask';
import { moneyText } from '../shared/money';
import { FollowOrder } from './follow-order';
import { MoreTime } from './more-time';

interface State {
  readonly order: ShownOrder;
  readonly messages: Readonly<Record<string, string>>;
  readonly language: string;
  /** How much more time a customer may ask for; null where the shop gives none. */
  readonly extensionMs: number | null;
}

const TICK_MS = 200;
const MARKS: Readonly<Record<number, string>> = {
  300: '5m',
  120: '2m',
  60: '1m',
  30: '30s',
  20: '20s',
  10: '10s',
};

/** Runs where the server has put an order into the page; a link that is over has none. */
function start({ order: first, messages, language, extensionMs }: State): void {
  const say = (key: string): string => messages[key] ?? key;
  const countdown = new Countdown(() => performance.now());
  const order = signal(first);
  const msLeft = signal(0);
  const isConnected = signal(true);
  const complaint = signal('');
  const state = computed(() => checkoutStateOf(order.value, msLeft.value));
  const mark = computed(() => announcedAt(msLeft.value));

  const take = (now: ShownOrder, askedAtMs: number): void => {
    countdown.anchor(now, askedAtMs);
    msLeft.value = countdown.msLeft();
    order.value = now;
  };
  take(first, performance.now());
  const following = new FollowOrder(first.id, {
    onOrder: take,
    onConnection: (isThere) => (isConnected.value = isThere),
  });
  following.start();

  // At zero the server is asked, and decides.
  let wasRunning = msLeft.value > 0;
  setInterval(() => {
    msLeft.value = countdown.msLeft();
    const isRunning = msLeft.value > 0;
    if (wasRunning && !isRunning) void following.look();
    wasRunning = isRunning;
  }, TICK_MS);

  const again = async (): Promise<void> => {
    try {
      const { url } = await ask<{ url: string }>('POST', `/v1/orders/${first.id}/again`);
      location.assign(url);
    } catch (error) {
      complaint.value = error instanceof Refused && error.message ? error.message : say('failed');
    }
  };

  function Page() {
    const { id, items, amount, currency } = order.value;
    const now = state.value;
    const canPay = now === 'waiting' || now === 'paying';
    return (
      <main class={`state-${now}`}>
        <div role="status">
          <h1>{say(`state.${now}`)}</h1>
        </div>
        <p>{say(`about.${now}`)}</p>
        {canPay && <TimeLeft />}
        <ul>
          {items.map(({ sku, quantity, unitPrice }) => (
            <li key={sku}>
              <span>
                {quantity} × {sku}
              </span>
              <span>{moneyText(quantity * unitPrice, currency, language)}</span>
            </li>
          ))}
        </ul>
        <p class="total">
          <span>{say('total')}</span>
          <strong>{moneyText(amount, currency, language)}</strong>
        </p>
        {canPay && (
          <a class="button" href={`/checkout/${id}/pay`}>
            {say(now === 'paying' ? 'payOn' : 'pay')}
          </a>
        )}
        {now === 'closed' && (
          <button type="button" onClick={() => void again()}>
            {say('again')}
          </button>
        )}
        <p role="alert">{isConnected.value ? complaint.value : say('offline')}</p>
        {canPay && extensionMs !== null && (
          <MoreTime
            {...{ say, msLeft, extensionMs, orderId: id }}
            onGiven={() => following.look()}
          />
        )}
      </main>
    );
  }

  /** The digits are for the eye: read out, they would never end. */
  function TimeLeft() {
    return (
      <p class="left">
        <span>{say('left')}</span>
        <time aria-hidden="true">{clockText(msLeft.value)}</time>
        <span class="heard" role="status">
          {mark.value === undefined ? '' : say(`left.${MARKS[mark.value]}`)}
        </span>
      </p>
    );
  }

  effect(() => {
    document.title = say(`state.${state.value}`);
  });
  const root = document.getElementById('app') as HTMLElement;
  root.replaceChildren();
  render(<Page />, root);
}

// The code in the address has been used: whoever copies the address copies no secret.
if (location.search) history.replaceState(null, '', location.pathname + keepLanguage());

function keepLanguage(): string {
  const language = new URLSearchParams(location.search).get('lang');
  return language === null ? '' : `?lang=${encodeURIComponent(language)}`;
}

const state = readState<State>();
if (state) start(state);
