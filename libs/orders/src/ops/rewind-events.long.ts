import { migrate } from '../migrate';
import { insertOrders } from '../../../../test/support/insert-orders';
import {
  startVacuumingServer,
  type VacuumingServer,
} from '../../../../test/support/vacuuming-server';
import { openWorld, type World } from '../../../../test/support/world';
import { RewindEvents } from './rewind-events';

describe('Rewinding the events of a restored dump', () => {
  let server: VacuumingServer;
  let world: World;
  beforeAll(async () => {
    server = await startVacuumingServer();
    await migrate({ DATABASE_URL: server.url });
    world = await openWorld({ databaseUrl: server.url });
  });
  afterAll(async () => {
    await world?.close();
    await server?.close();
  });

  it('has an autovacuum of its orders end, which it would wait for otherwise', async () => {
    await insertOrders(world, { count: 50_000, closesInMs: 600_000 });
    await world.rows(`UPDATE order_events SET tx = '4000000000'`);
    await server.vacuumSlowly('lastcall.orders', 'UPDATE lastcall.orders SET extended = true');
    const rewound = await new RewindEvents(world.dataSource).rewind({
      actor: 'olga',
      reason: 'restored',
    });
    expect(rewound).toMatchObject({ wasStuck: true, events: 50_000 });
  });
});
