import { announcedAt, checkoutStateOf, clockText, moneyText } from '@app/pages';
import { type Order, ProblemError } from '@lastcall/client';
import { computed, effect, signal } from '@preact/signals';
import { render } from 'preact';
import { readState } from '../shared/page-state';
import { connect, followOrder } from './follow-order';
import { MoreTime } from './more-time';

interface State {
  readonly order: Order;
  readonly messages: Readonly<Record<string, string>>;
  readonly language: string;
  /** Whoever wanted to pay has just been sent back. */
  readonly hasFailed: boolean;
  /** How much more time a customer may ask for; null where the shop gives none. */
  readonly extensionMs: number | null;
}

const MARKS: Readonly<Record<number, string>> = {
  300: '5m',
  120: '2m',
  60: '1m',
  30: '30s',
  20: '20s',
  10: '10s',
};

/** Runs where the server has put an order into the page; a link that is over has none. */
function start({ order: first, messages, language, hasFailed, extensionMs }: State): void {
  const say = (key: string): string => messages[key] ?? key;
  const order = signal(first);
  const msLeft = signal(0);
  const isConnected = signal(true);
  const complaint = signal(hasFailed ? say('failed') : '');
  const state = computed(() => checkoutStateOf(order.value, msLeft.value));
  const mark = computed(() => announcedAt(msLeft.value));

  const client = connect((isThere) => (isConnected.value = isThere));
  const countdown = client.countdown(first);
  /** Several questions may be under way: an answer that is older than what is shown has come too late. */
  const take = (now: Order): void => {
    if (now.version < order.value.version) return;
    countdown.update(now);
    msLeft.value = countdown.leftMs() ?? 0;
    order.value = now;
  };
  followOrder(client, first.id, take);

  let wasRunning = false;
  countdown.start((seconds) => {
    msLeft.value = countdown.leftMs() ?? 0;
    const isRunning = seconds !== null && seconds > 0;
    // At zero the server is asked, and decides.
    if (wasRunning && seconds === 0) void client.order(first.id).then(take, () => undefined);
    wasRunning = isRunning;
  });

  const again = async (): Promise<void> => {
    complaint.value = '';
    try {
      location.assign((await client.again(first.id)).url);
    } catch (error) {
      complaint.value = error instanceof ProblemError ? error.message : say('failed');
    }
  };
  const extend = async (ms: number): Promise<void> =>
    take(await client.extend(first.id, Math.max(1, Math.floor(ms / 1_000))));

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
        {/* A closed order is followed no more, so that nobody tries again by itself. */}
        <p role="alert">
          {isConnected.value || now === 'closed' ? complaint.value : say('offline')}
        </p>
        {canPay && extensionMs !== null && (
          <MoreTime {...{ say, msLeft }} onWanted={() => extend(extensionMs)} />
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
