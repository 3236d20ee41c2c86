import { randomBytes } from 'node:crypto';
import { historyIsOver } from '../../../../../test/support/history-is-over';
import { insertOrders } from '../../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../../test/support/world';
import { SealHistory } from '../../events/seal-history';
import { examineHistory } from './examine-history';

let world: World;

afterEach(() => world.close());

it.each([
  ['signed, and not looked at: HISTORY_SEAL_KEY is not set here', randomBytes(32).toString('hex')],
  ["not signed: the database's owner could make new ones", undefined],
])('without a key of its own doctor says %s', async (detail, key) => {
  world = await openWorld(key === undefined ? {} : { settings: { HISTORY_SEAL_KEY: key } });
  await insertOrders(world, { count: 1, closesInMs: 60_000 });
  await historyIsOver(world);
  await world.get(SealHistory).runOnce();
  const checks = await examineHistory(world.dataSource, { key: null, wholeHistory: true });
  expect(checks.find(({ name }) => name === 'signatures')).toMatchObject({
    state: 'warning',
    detail,
  });
});
