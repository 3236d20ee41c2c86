import { moneyText } from '@app/pages';
import type { Product } from '@lastcall/client';
import { signal } from '@preact/signals';
import { render } from 'preact';
import { ask } from '../shared/ask';
import { readState } from '../shared/page-state';

interface State {
  readonly products: readonly Product[];
  readonly messages: Readonly<Record<string, string>>;
  readonly language: string;
}

const MAX_QUANTITY = 9;

const { products, messages, language } = readState<State>() as State;
const say = (key: string): string => messages[key] ?? key;
const cart = signal<Readonly<Record<string, number>>>({});
const complaint = signal('');
const isOrdering = signal(false);
const isQuick = signal(false);

const change = (sku: string, quantity: number): void => {
  cart.value = { ...cart.value, [sku]: Math.max(0, Math.min(MAX_QUANTITY, quantity || 0)) };
};

async function order(): Promise<void> {
  isOrdering.value = true;
  complaint.value = '';
  try {
    const items = Object.entries(cart.value)
      .filter(([, quantity]) => quantity > 0)
      .map(([sku, quantity]) => ({ sku, quantity }));
    const { url } = await ask<{ url: string }>('POST', '/shop/orders', {
      items,
      isQuick: isQuick.value,
    });
    const chosen = new URLSearchParams(location.search).get('lang');
    location.assign(chosen === null ? url : `${url}&lang=${encodeURIComponent(chosen)}`);
  } catch (error) {
    complaint.value = error instanceof Error ? error.message : String(error);
    isOrdering.value = false;
  }
}

function Shop() {
  const isEmpty = Object.values(cart.value).every((quantity) => quantity === 0);
  return (
    <main>
      <h1>{say('shop.title')}</h1>
      <p>{say('shop.about')}</p>
      {/* Who comes back would else be shown what they had chosen, by a browser that tells the cart nothing of it. */}
      <form
        autocomplete="off"
        onSubmit={(event) => {
          event.preventDefault();
          void order();
        }}
      >
        <ul>
          {products.map(({ sku, name, unitPrice, currency, available }) => (
            <li key={sku}>
              <label for={sku}>
                {name} · {moneyText(unitPrice, currency, language)}{' '}
                <small>
                  ({say('shop.left').replace('{count}', available.toLocaleString(language))})
                </small>
              </label>
              <input
                id={sku}
                type="number"
                min="0"
                max={MAX_QUANTITY}
                value={cart.value[sku] ?? 0}
                onInput={(event) => change(sku, Number(event.currentTarget.value))}
              />
            </li>
          ))}
        </ul>
        <p>
          <label>
            <input
              type="checkbox"
              checked={isQuick.value}
              onChange={(event) => (isQuick.value = event.currentTarget.checked)}
            />{' '}
            {say('shop.quick')}
          </label>
        </p>
        <button type="submit" disabled={isEmpty || isOrdering.value}>
          {say('shop.order')}
        </button>
      </form>
      <p role="alert">{complaint.value}</p>
    </main>
  );
}

const root = document.getElementById('app') as HTMLElement;
root.replaceChildren();
render(<Shop />, root);
