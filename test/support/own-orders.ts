import { fromPg } from '../../libs/timeout/src/public';
import type { TargetWait } from '../../libs/orders/src/targets';
import { LedgerProvider, type Posted } from './ledger-provider';
import { KIND, type NumberedOrder } from './numbered-shop';
import { AMOUNT, type NumberedShop, openNumberedShop } from './open-numbered-shop';
import { silentOrdersTelemetry } from './silent-telemetry';
import { until } from './until';

/** The numbered shop of a file's tests, its provider well at the beginning of each. */
export function ownOrders() {
  let opened: NumberedShop | undefined;
  let references = 0;
  /** Batches that failed, and why. */
  const failures: string[] = [];
  const shop = (): NumberedShop => {
    if (!opened) throw new Error('The shop is not open');
    return opened;
  };
  beforeAll(async () => {
    const batchFailed = (_kind: string, _size: number, error: unknown) =>
      void failures.push(String(error));
    const telemetry = { ...silentOrdersTelemetry, batchFailed };
    opened = await openNumberedShop({ timeouts: { driver: 'memory', telemetry } });
  });
  afterAll(() => opened?.close());
  beforeEach(() => {
    const { acme, alerts } = shop();
    acme.around = async () => undefined;
    acme.unreachable = undefined;
    alerts.length = 0;
  });

  const read = async (id: string): Promise<NumberedOrder> => {
    const found = await shop().client.query<NumberedOrder>('SELECT * FROM orders WHERE id = $1', [
      id,
    ]);
    return found.rows[0] as NumberedOrder;
  };
  const waitsOf = async (...subjects: string[]): Promise<TargetWait[]> =>
    (await shop().targets.waiting()).filter(({ subject }) => subjects.includes(subject ?? ''));

  return {
    shop,
    failures,
    read,
    waitsOf,
    /** The reference of one more payment, which is open at the provider. */
    opened: (): string => {
      const paymentId = `pay-of-shop-${++references}`;
      shop().acme.open({ paymentId, ...AMOUNT });
      return paymentId;
    },
    /** An order, with so many payments open at the provider. */
    place: async (
      closesInMs: number,
      payments = 0,
    ): Promise<{ id: string; references: readonly string[] }> => {
      const own = Array.from({ length: payments }, () => `pay-of-shop-${++references}`);
      return { id: await shop().place(closesInMs, own), references: own };
    },
    makeDue: (...ids: string[]): Promise<unknown> => {
      const dueAt = new Date();
      const due = ids.map((subjectId) => ({ kind: KIND, subjectId, dueAt }));
      return shop().timeouts.arm(fromPg(shop().client), due);
    },
    /** By hand; a close that meets the provider's answer at the row is told so, and asked for again. */
    cancel: (orderId: string) =>
      until('nobody else has the row', async () => {
        const outcome = await shop().targets.close({ kind: KIND, orderId }, 'canceled');
        return outcome === 'busy' ? undefined : outcome;
      }),
    untilState: (id: string, state: number): Promise<NumberedOrder> =>
      until(`order ${id} is ${state}`, async () => {
        const order = await read(id);
        return order.state === state ? order : undefined;
      }),
    send: (posted: Posted): Promise<void> => shop().receive(posted),
    pay: (reference: string, late = false): Posted =>
      shop().acme.pay(reference, new Date(), { late }) as Posted,
    entry: (reference: string): ReturnType<LedgerProvider['entries']['get']> =>
      shop().acme.entries.get(`pay-${reference}`),
    waitOf: (id: string, wanted: TargetWait['what']): Promise<TargetWait> =>
      until(`${wanted} of ${id} waits`, async () => {
        return (await waitsOf(id)).find(({ what }) => what === wanted);
      }),
    isClosing: (orderId: string): Promise<boolean> =>
      shop().targets.isClosing(fromPg(shop().client), { kind: KIND, orderId }),
  };
}
