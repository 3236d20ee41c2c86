import { moneyText } from '@app/pages';
import { signal } from '@preact/signals';
import { render } from 'preact';
import { ask } from '../shared/ask';
import { readState } from '../shared/page-state';

interface Product {
  readonly sku: string;
  readonly name: string;
  readonly price: number;
  readonly currency: string;
  readonly available: number;
}

const MAX_QUANTITY = 9;

const products = readState<readonly Product[]>() ?? [];
const cart = signal<Readonly<Record<string, number>>>({});
const complaint = signal('');
const isOrdering = signal(false);

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
    const { url } = await ask<{ url: string }>('POST', '/shop/orders', { items });
    location.assign(url);
  } catch (error) {
    complaint.value = error instanceof Error ? error.message : String(error);
    isOrdering.value = false;
  }
}

function Shop() {
  const isEmpty = Object.values(cart.value).every((quantity) => quantity === 0);
  return (
    <main>
      <h1>A sample shop</h1>
      <p>
        Choose something, order, and pay at the sandbox, which takes no money. Leave an order
        unpaid, and it closes when its time is over.
      </p>
      <ul>
        {products.map(({ sku, name, price, currency, available }) => (
          <li key={sku}>
            <label for={sku}>
              {name} · {moneyText(price, currency, navigator.language)}{' '}
              <small>({available} left)</small>
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
      <button type="button" disabled={isEmpty || isOrdering.value} onClick={() => void order()}>
        Order
      </button>
      <p role="alert">{complaint.value}</p>
    </main>
  );
}

const root = document.getElementById('app') as HTMLElement;
root.replaceChildren();
render(<Shop />, root);
