import { LONGEST_BACKOFF_MS } from '../../../libs/orders/src/deliveries/attempt-backoff';
import type { World } from '../../support/world';
import type { Arrived, Endpoint, Endpoints } from './endpoints';

const THREE_DAYS_MS = 3 * 86_400_000;

/** What is not to be before its time: to be looked at before operators clear it up. */
export async function findGivenUp(world: World, { all }: Endpoints): Promise<string[]> {
  const dead = await world.rows<{ id: string; endpoint_id: string; is_early: boolean }>(
    `SELECT id, endpoint_id, settled_at + $1 * interval '1 millisecond' < retry_until AS is_early
       FROM webhook_deliveries WHERE status = 'dead'`,
    [LONGEST_BACKOFF_MS],
  );
  const late = dead.map(({ endpoint_id: id }) => id);
  for (const endpoint of all) endpoint.hasGivenUp ||= late.includes(endpoint.id);
  const off = await world.rows<{ id: string }>(
    `SELECT id FROM webhook_endpoints WHERE status = 'off'`,
  );
  const isOff = new Set(off.map(({ id }) => id));
  return [
    ...dead
      .filter(({ is_early: isEarly }) => isEarly)
      .map(({ id }) => `webhook ${id} was given up before three days were over`),
    ...all
      // Each of them counts for no more, however long nobody asked.
      .filter(({ id, wasGone, refusals }) => {
        return isOff.has(id) && !wasGone && refusals * LONGEST_BACKOFF_MS < THREE_DAYS_MS;
      })
      .map(({ id, refusals }) => `endpoint ${id} is off after ${refusals} refusals`),
  ];
}

/** Each endpoint has taken each event that it wants, in order for each order (docs/events.md). */
export async function endpointFaults(world: World, { all }: Endpoints): Promise<string[]> {
  const faults: string[] = [];
  for (const endpoint of all) faults.push(...(await faultsOf(world, endpoint)));
  return faults;
}

async function faultsOf(world: World, { id, arrived, hasGivenUp }: Endpoint): Promise<string[]> {
  const wanted = await world.rows<{ orderId: string; versions: number[] }>(
    `SELECT ev.order_id AS "orderId", array_agg(ev.version ORDER BY ev.version) AS versions
       FROM webhook_endpoints e JOIN order_events ev ON ev.type = ANY (e.events) OR '*' = ANY (e.events)
      WHERE e.id = $1 GROUP BY 1`,
    [id],
  );
  return wanted.flatMap(({ orderId, versions }) => {
    const ofOrder = arrived.filter((one) => one.orderId === orderId);
    const strangers = ofOrder.filter(({ version }) => !versions.includes(version));
    return [
      ...missing(versions, ofOrder).map((version) => `event ${version} has never come`),
      ...(hasGivenUp ? [] : tooEarly(versions, ofOrder)).map(
        (version) => `event ${version} came before an earlier one`,
      ),
      ...strangers.map(({ version }) => `event ${version} came, which nobody wants`),
    ].map((fault) => `endpoint ${id}: ${fault} (order ${orderId})`);
  });
}

const missing = (wanted: readonly number[], arrived: readonly Arrived[]): number[] =>
  wanted.filter((version) => !arrived.some((one) => one.isTaken && one.version === version));

/** Those that came while an earlier one had not been taken. */
function tooEarly(wanted: readonly number[], arrived: readonly Arrived[]): number[] {
  const taken = new Set<number>();
  const early = new Set<number>();
  for (const { version, isTaken } of arrived) {
    if (wanted.some((other) => other < version && !taken.has(other))) early.add(version);
    if (isTaken) taken.add(version);
  }
  return [...early];
}
