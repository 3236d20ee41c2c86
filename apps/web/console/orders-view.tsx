import { useSignal } from '@preact/signals';
import { ask } from '../shared/ask';
import { propose } from './action';
import { type Exit, OF_ORDERS } from './exits';
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
/** Of any other order what would have closed it is over. */
const WAITING = ['pending_payment', 'closing'];
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

export function OrdersView({ mayAct }: { mayAct: boolean }) {
  const { query } = place.value;
  const given = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? '']));
  const path = hashOf('orders', given).slice(1);
  const search = path.includes('?') ? `&${path.split('?')[1]}` : '';
  const { answer, failure, look } = useRefreshed<Page>(`/v1/ops/orders?limit=50${search}`);
  const page = answer.value;
  return (
    <>
      <Filters key={search} given={given} />
      <Failure text={failure.value} />
      {mayAct && page && page.items.length > 0 && (
        <Batch exits={OF_ORDERS[given.status ?? ''] ?? []} search={search} onDone={look} />
      )}
      {page && (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                {['Order', 'Status', 'Customer', 'Amount', 'Placed', 'Closes'].map((title) => (
                  <th key={title} scope="col" class={title === 'Amount' ? 'number' : ''}>
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
                    <Instant at={WAITING.includes(order.status) ? order.closesAt : null} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {page && page.items.length === 0 && (
        <p>
          {page.nextCursor
            ? 'No order matches so far; older ones may.'
            : `No ${given.cursor ? 'older ' : ''}order matches.`}
        </p>
      )}
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
        status
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
      <label class="box">
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

/** As many as one change takes at once; a page of the API; pages that one collection reads at most. */
const [MOST_AT_ONCE, PAGE, MOST_PAGES] = [200, 100, 20];

/** Those that match, newest first, and what else may, as a page is short where matches are rare. */
async function collect(search: string): Promise<{ ids: string[]; others: string }> {
  const ids: string[] = [];
  const given = new URLSearchParams(search).get('cursor');
  const rest = search.replace(/&cursor=[^&]*/, '');
  let cursor = given;
  for (let pages = 0; pages < MOST_PAGES && ids.length < MOST_AT_ONCE; pages += 1) {
    const from = cursor === null ? '' : `&cursor=${cursor}`;
    const page: Page = await ask('GET', `/v1/ops/orders?limit=${PAGE}${rest}${from}`);
    ids.push(...page.items.map(({ id }) => id));
    cursor = page.nextCursor;
    if (cursor === null) break;
  }
  const isMore = cursor !== null || ids.length > MOST_AT_ONCE;
  const taken = ids.slice(0, MOST_AT_ONCE);
  const newest = isMore ? ` These are the newest ${taken.length}; others may match as well.` : '';
  const older = ` These are ${taken.length} from this page on; ${isMore ? 'others' : 'newer ones'} may match as well.`;
  return { ids: taken, others: given === null ? newest : older };
}

interface BatchProps {
  readonly exits: readonly Exit[];
  readonly search: string;
  readonly onDone: () => Promise<void>;
}

/** What can be done to all orders of one status that the filter finds. */
function Batch({ exits, search, onDone }: BatchProps) {
  const failure = useSignal('');
  if (exits.length === 0) return null;
  const begin = async ({ label: _, about, ...action }: Exit): Promise<void> => {
    failure.value = '';
    try {
      const { ids, others } = await collect(search);
      propose({ ...action, about: about + others, ids, onDone });
    } catch (error) {
      failure.value = error instanceof Error ? error.message : String(error);
    }
  };
  return (
    <p class="buttons">
      {exits.map((exit) => (
        <button key={exit.label} type="button" onClick={() => void begin(exit)}>
          {exit.label} all that match
        </button>
      ))}
      <Failure text={failure.value} />
    </p>
  );
}
