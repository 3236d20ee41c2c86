import { paidUnheard } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import { Gauges } from '../ops/gauges';
import { Reconcile } from './reconcile';

const DAY_S = 86_400;
let world: World;
beforeEach(async () => (world = await openWorld()));
afterEach(() => world.close());

const compared = async () => {
  const { reconcileDifferences, reconcileAgeSeconds } = await world.get(Gauges).read();
  const days = reconcileAgeSeconds === null ? null : Math.floor(reconcileAgeSeconds / DAY_S);
  return { differences: reconcileDifferences, days };
};
const byOperator = () =>
  world.get(Reconcile).run({
    since: new Date(Date.now() - 7 * DAY_S * 1_000),
    onDifference: () => undefined,
  });
const tonight = () => world.get(Reconcile).runOnce();
/** As if all runs had begun so many days before. */
const daysPass = (days: number) =>
  world.rows(
    `UPDATE reconcile_runs SET started_at = started_at - $1 * interval '1 day',
            since = since - $1 * interval '1 day', finished_at = finished_at - $1 * interval '1 day'`,
    [days],
  );

describe('what the newest comparison of a week has left open', () => {
  it('is told for two days: then nobody knows how the books are', async () => {
    await paidUnheard(world);
    await byOperator();
    expect(await compared()).toMatchObject({ differences: 1 });
    await daysPass(1);
    expect(await compared()).toMatchObject({ differences: 1 });
    await daysPass(1);
    expect(await compared()).toMatchObject({ differences: null });
  });
});

describe('how long ago the books were compared', () => {
  it('is told only where they are compared each night', async () => {
    expect(await compared()).toEqual({ differences: null, days: null });
    await byOperator();
    expect(await compared()).toEqual({ differences: 0, days: null });
    await tonight();
    expect(await compared()).toEqual({ differences: 0, days: 0 });
  });

  it('is since the newest that came to its end, whoever wanted it', async () => {
    await tonight();
    await daysPass(3);
    expect(await compared()).toEqual({ differences: null, days: 3 });
    world.provider.around = async () => {
      throw new Error('away');
    };
    await expect(tonight()).rejects.toMatchObject({ code: 'provider_error' });
    expect(await compared()).toEqual({ differences: null, days: 3 });
    world.provider.around = async () => undefined;
    await byOperator();
    expect(await compared()).toEqual({ differences: 0, days: 0 });
    await daysPass(30);
    expect(await compared()).toEqual({ differences: null, days: null });
  });

  it('is since the first night where none came to its end', async () => {
    world.provider.around = async () => {
      throw new Error('away');
    };
    for (let night = 0; night < 2; night++) {
      await expect(tonight()).rejects.toMatchObject({ code: 'provider_error' });
      await daysPass(2);
    }
    expect(await compared()).toEqual({ differences: null, days: 4 });
  });
});
