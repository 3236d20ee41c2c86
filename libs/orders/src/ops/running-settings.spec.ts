import { openWorld, type World } from '../../../../test/support/world';
import { OrderHooks } from '../order/order-hooks';
import { silentOrdersTelemetry } from '../order/telemetry';
import { readRunningSettings } from './running-settings';
import { RedisMark } from './redis-mark';
import { TellOfProcess } from './tell-of-process';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterEach(() => world.rows('DELETE FROM processes'));
afterAll(() => world?.close());

interface Told {
  readonly providers?: string;
  /** Those that a host brings itself. */
  readonly hosts?: string;
  /** Null: of the version before, or no worker. */
  readonly hasHooks?: boolean | null;
  readonly hasLeft?: boolean;
  readonly seen: string;
}

const tell = ({ providers = 'stripe', hosts, hasHooks = false, hasLeft = false, seen }: Told) =>
  world.owner.rows(
    `INSERT INTO processes (id, host, pid, settings, has_hooks, seen_at, left_at)
     SELECT gen_random_uuid(), 'a', 7, $1, $2, at, CASE WHEN $3 THEN at END
       FROM (SELECT now() - $4::interval AS at) AS seen`,
    [
      JSON.stringify({
        ...{ PAYMENT_PROVIDERS: providers, PAYMENT_WINDOW: '10m' },
        HOSTS_PROVIDERS: hosts,
      }),
      hasHooks,
      hasLeft,
      seen,
    ],
  );
const read = () => readRunningSettings(world, {});

it('they are told of while somebody holds the row of a process that is long gone', async () => {
  await tell({ seen: '30 days' });
  const hooks = world.get(OrderHooks);
  const telling = new TellOfProcess(
    ...([world.dataSource, world.config, hooks, true, [], silentOrdersTelemetry] as const),
    new RedisMark(undefined, 'lc'),
  );
  await world.dataSource.transaction(async (dba) => {
    await dba.query('SELECT FROM processes FOR UPDATE');
    await telling.runOnce();
    expect((await read()).isAlive).toBe(true);
  });
  await telling.runOnce();
  expect(await world.rows('SELECT FROM processes')).toHaveLength(1);
});

describe('what only the code of a host has', () => {
  it('is known by those that are alive, whoever has left', async () => {
    await tell({ seen: '5 s' });
    await tell({ seen: '1 s', hasHooks: true, providers: 'acme', hasLeft: true });
    expect((await read()).host).toEqual({ hasHooks: false, providers: [] });
    await tell({ seen: '9 s', hasHooks: true, providers: 'stripe,acme' });
    expect((await read()).host).toEqual({ hasHooks: true, providers: ['acme'] });
  });

  it('is a provider of one of our names, too, where the host brings it itself', async () => {
    await tell({ seen: '1 s', providers: 'sandbox', hosts: 'sandbox' });
    expect(await read()).toMatchObject({
      ...{ host: { providers: ['sandbox'] }, settings: { PAYMENT_PROVIDERS: 'sandbox' } },
      differences: [],
    });
  });

  it('is not denied by one that is alive and cannot say', async () => {
    await tell({ seen: '10 minutes', hasHooks: true });
    await tell({ seen: '1 s', hasHooks: null });
    expect((await read()).host.hasHooks).toBe(true);
  });

  it.each([
    ['have said goodbye', true, '1 hour'],
    ['said goodbye days ago', true, '3 days'],
    ['were killed days ago', false, '3 days'],
  ])(
    'stays known when all %s, and of the settings the providers alone',
    async (_, hasLeft, seen) => {
      await tell({ seen, hasHooks: true, providers: 'acme,stripe', hasLeft });
      expect(await read()).toMatchObject({
        ...{ processes: [], isAlive: false, differences: [] },
        settings: { PAYMENT_PROVIDERS: 'acme,stripe' },
        host: { hasHooks: true, providers: ['acme'] },
      });
    },
  );

  it('is nothing where all had providers of ours: then the environment counts', async () => {
    await tell({ seen: '1 hour', hasLeft: true });
    expect(await read()).toMatchObject({
      settings: {},
      host: { hasHooks: false, providers: [] },
    });
  });

  it('is nothing of processes of the version before, which tell of no hooks', async () => {
    await tell({ seen: '1 s' });
    await world.owner.rows('ALTER TABLE processes DROP COLUMN has_hooks, DROP COLUMN left_at');
    expect(await read()).toMatchObject({
      ...{ isAlive: true, host: { hasHooks: false, providers: [] } },
      settings: { PAYMENT_WINDOW: '10m' },
    });
  });
});
