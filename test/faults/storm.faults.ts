import { until } from '../support/until';
import type { Fault } from './fault';
import { refundMeanwhile, refundsSince } from './refunding';

const ORDERS = 2_000;

/** Everything that a provider can do wrong short of being away, while three workers close. */
export const STORM: Fault = {
  area: 'Storm',
  isAboutMoney: true,
  name: '2,000 orders, three workers, errors, timeouts, duplicated, reordered and dropped notices',
  run: async (step) => {
    const { rig, client, load } = step;
    const since = await step.now();
    await rig.start({ name: 'worker-3', roles: 'worker' });
    await client.faults({
      ...{ errorRate: 0.1, timeoutRate: 0.03, timeoutHoldMs: 3_500, seed: 11 },
      ...{ duplicateWebhooks: 1, reorderWebhooks: true, dropWebhooks: 0.1, webhookDelayMs: 100 },
    });
    await until('2,000 orders are placed', () => load.begun >= ORDERS, 600_000);
    // Of late money that nobody is told of hears who compares the books, and nobody else.
    await client.faults({ dropWebhooks: false });
    await refundMeanwhile(step, true);
    await step.heal(() => client.healProvider());
    const refunds = await refundsSince(step, since);
    await rig.process('worker-3').stop();
    rig.forget('worker-3');
    const rows = await rig.rows<{ status: string; n: string }>(
      'SELECT status, count(*) AS n FROM orders GROUP BY status ORDER BY status',
    );
    return `${rows.map(({ status, n }) => `${n} ${status}`).join(', ')}; ${refunds}`;
  },
};
