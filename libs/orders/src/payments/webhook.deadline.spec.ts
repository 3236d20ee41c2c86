import { randomUUID } from 'node:crypto';
import { moneyOf } from '../../../../test/support/money';
import { openWorld, type World } from '../../../../test/support/world';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

const { paid } = moneyOf(() => world);
const waitFor = (webhookId: string) =>
  world.rows(`INSERT INTO deadlines (kind, due_at, subject_id) VALUES ('webhook', now(), $1)`, [
    webhookId,
  ]);

it.each([
  [
    'that somebody else has applied',
    async () => {
      const { paymentId } = await paid();
      const [webhook] = await world.rows<{ id: string }>(
        `SELECT id FROM webhook_events WHERE notice ->> 'paymentId' = $1`,
        [paymentId],
      );
      return webhook?.id as string;
    },
  ],
  ['that is gone', async () => randomUUID()],
])('a webhook %s is waited for no more', async (_, webhook) => {
  await waitFor(await webhook());
  const { lost, putBack } = await world.timeouts.runSweep();
  expect({ lost, putBack }).toEqual({ lost: 1, putBack: 0 });
  expect(await world.rows(`SELECT FROM deadlines WHERE kind = 'webhook'`)).toEqual([]);
});
