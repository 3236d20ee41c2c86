import { historyIsOver } from '../../../../test/support/history-is-over';
import { openWorld, type World } from '../../../../test/support/world';
import { createDataSource } from '../data-source';
import { silentOrdersTelemetry } from '../order/telemetry';
import { examineHistory } from '../ops/doctor/examine-history';
import { DigestHistory } from './digest-history';
import { SealHistory } from './seal-history';

/** So many take a second or so; a day of a large shop takes a minute, where statements have 15 seconds. */
const EVENTS = 150_000;
const STATEMENT_LIMIT_MS = 250;

let world: World;
beforeAll(async () => {
  world = await openWorld();
  await world.rows(
    `INSERT INTO order_events (order_id, version, type, to_status, by, actor, tx)
     SELECT gen_random_uuid(), 1, 'order.closed', 'closed', 'customer', 'c-' || i, event_tx(pg_current_xact_id())
       FROM generate_series(1, $1::int) AS i`,
    [EVENTS],
  );
  await historyIsOver(world);
}, 60_000);
afterAll(() => world?.close());

it('is sealed, counted and looked at by doctor, however many events a restored history has of one number', async () => {
  const url = new URL(world.config.DATABASE_URL);
  url.searchParams.set('options', `-c statement_timeout=${STATEMENT_LIMIT_MS}`);
  const hurried = createDataSource({ ...world.config, DATABASE_URL: url.href }, 'hurried', 1);
  await hurried.initialize();
  try {
    const seals = await new SealHistory(hurried, null, silentOrdersTelemetry).runOnce();
    expect(seals).toMatchObject([{ history: 'order_events', rows: EVENTS }]);
    expect(await new DigestHistory(hurried).runOnce()).toEqual({ windows: 1 });
    const [looked] = await examineHistory(hurried, { key: null, wholeHistory: false });
    expect(looked).toMatchObject({
      ...{ state: 'ok', detail: `1 seals hold; ${EVENTS} rows are as sealed` },
    });
  } finally {
    await hurried.destroy();
  }
});
