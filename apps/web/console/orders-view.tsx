import { useSignal } from '@preact/signals';
import { hashOf, place } from './location';
import { useRefreshed } from './refreshed';
import { Failure, Id, Instant, money } from './words';

interface Order {
  readonly id: string;
  readonly status: string;
  readonly customerId: string;
  readonly amount: number;
  readonly currency: string;
  readonly createdAt: string;
  readonly closesAt: string | null;
}

interface Page {
  readonly items: readonly Order[];
  readonly nextCursor: string | null;
}

const STATUSES = [
  ...['pending_payment', 'closing', 'paid', 'shipped', 'completed', 'closed', 'canceled'],
];
const FILTERS = [
  'status',
  'customer',
  'sku',
  'amount',
  'id',
  'since',
  'until',
  'overdue',
  'cursor',
];

export function OrdersView() {
  const { query } = place.value;
  const given = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? '']));
  const path = hashOf('orders', given).slice(1);
  const search = path.includes('?') ? `&${path.split('?')[1]}` : '';
  const { answer, failure } = useRefreshed<Page>(`/v1/ops/orders?limit=50${search}`);
  const page = answer.value;
  return (
    <>
      <Filters key={search} given={given} />
      <Failure text={failure.value} />
      {page && (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                {['Order', 'Status', 'Customer', 'Amount', 'Placed', 'Closes'].map((title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {page.items.map((order) => (
                <tr key={order.id}>
                  <td>
                    <Id id={order.id} href={hashOf(`order/${order.id}`)} />
                  </td>
                  <td class={`status ${order.status}`}>{order.status}</td>
                  <td>{order.customerId}</td>
                  <td class="number">{money(order.amount, order.currency)}</td>
                  <td>
                    <Instant at={order.createdAt} />
                  </td>
                  <td>
                    <Instant at={order.closesAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {page && page.items.length === 0 && <p>No order matches.</p>}
      {page?.nextCursor && (
        <a href={hashOf('orders', { ...given, cursor: page.nextCursor })}>Older ones</a>
      )}
    </>
  );
}

function Filters({ given }: { given: Readonly<Record<string, string>> }) {
  const values = useSignal<Readonly<Record<string, string>>>({ ...given, cursor: '' });
  const set = (name: string, value: string): void => {
    values.value = { ...values.value, [name]: value };
  };
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        location.hash = hashOf('orders', values.value);
      }}
    >
      <label>
        Status
        <select
          value={values.value.status}
          onChange={(event) => set('status', event.currentTarget.value)}
        >
          <option value="">any</option>
          {STATUSES.map((status) => (
            <option key={status}>{status}</option>
          ))}
        </select>
      </label>
      {['customer', 'sku', 'amount', 'id', 'since', 'until'].map((name) => (
        <label key={name}>
          {name}
          <input
            value={values.value[name]}
            onInput={(event) => set(name, event.currentTarget.value.trim())}
          />
        </label>
      ))}
      <label>
        <input
          type="checkbox"
          checked={values.value.overdue === 'true'}
          onChange={(event) => set('overdue', event.currentTarget.checked ? 'true' : '')}
        />
        overdue
      </label>
      <button type="submit">Show</button>
    </form>
  );
}
