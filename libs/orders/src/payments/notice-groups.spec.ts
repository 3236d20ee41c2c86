import { randomUUID } from 'node:crypto';
import { DatabaseClock } from '@app/timeout';
import { post } from '../../../../test/support/ledger-provider';
import { silentOrdersTelemetry } from '../../../../test/support/silent-telemetry';
import { openWorld, type World } from '../../../../test/support/world';
import { PaymentProviders } from '../providers/payment-providers';
import { NoticeGroups } from './notice-groups';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

describe('webhooks that come while others are stored', () => {
  it('gather for a while before they are stored beside those', async () => {
    const begunMs: number[] = [];
    const [begun, stored] = [new Signal(), new Signal()];
    const receiver = {
      providers: world.get(PaymentProviders),
      telemetry: silentOrdersTelemetry,
      clock: new DatabaseClock(world.dataSource),
    };
    const taking = new NoticeGroups(receiver, async (_, notices) => {
      if (begunMs.push(performance.now()) > 1) stored.give();
      begun.give();
      await stored.given;
      return notices.map(() => 'processed');
    });
    const receive = (): Promise<void> => {
      const { body, headers } = post({ eventId: randomUUID(), type: 'ignored' });
      return taking.receive('sandbox', body, headers);
    };
    const first = receive();
    await begun.given;
    await Promise.all([first, receive(), receive()]);
    expect(begunMs).toHaveLength(2);
    expect((begunMs[1] ?? 0) - (begunMs[0] ?? 0)).toBeGreaterThan(10);
    await taking.drained();
  });
});

class Signal {
  give!: () => void;
  readonly given = new Promise<void>((resolve) => (this.give = resolve));
}
