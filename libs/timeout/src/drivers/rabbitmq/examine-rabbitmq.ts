import type { ChannelModel } from 'amqplib';
import { TimeLimitError, withTimeLimit } from '../../time-limit';
import type { TimerFinding } from '../../timer-driver-kind';
import { connectRabbitmq, hangUp } from './connect-rabbitmq';

const LIMIT_MS = 1_500;
const NO_ANSWER = 'no answer';
/** The first whose quorum queues hand dead letters on at least once. */
const OLDEST_VERSION = [3, 10] as const;
const ACCESS_REFUSED = 403;
const NOT_FOUND = 404;

/** Whether this broker's queues do what is needed, and whether the queue of what is due answers. */
export async function examineRabbitmq(url: string, dueQueue: string): Promise<TimerFinding[]> {
  const model = await connectRabbitmq(url, { timeout: LIMIT_MS });
  // A channel that the broker closes is told of where it is used.
  model.on('error', () => undefined);
  try {
    const { version = '' } = model.connection.serverProperties as { version?: string };
    const [major = 0, minor = 0] = version.split('.').map(Number);
    const [atLeast, andMinor] = OLDEST_VERSION;
    const channel = await withTimeLimit(model.createChannel(), LIMIT_MS, NO_ANSWER);
    channel.on('error', () => undefined);
    return [
      {
        name: 'RabbitMQ version',
        isFine: major > atLeast || (major === atLeast && minor >= andMinor),
        detail: version,
        fix: 'run RabbitMQ 3.10 or newer: older ones drop dead letters when a node fails',
      },
      await dueQueueOf(() => channel.checkQueue(dueQueue), dueQueue),
      // Last, as nothing more is heard over a connection that is blocked.
      await resourcesOf(model),
    ];
  } finally {
    await withTimeLimit(model.close(), LIMIT_MS, 'No goodbye').catch(() => hangUp(model));
  }
}

async function dueQueueOf(
  look: () => Promise<{ messageCount: number; consumerCount: number }>,
  queue: string,
): Promise<TimerFinding> {
  const name = 'RabbitMQ queue';
  try {
    const { messageCount, consumerCount } = await withTimeLimit(look(), LIMIT_MS, NO_ANSWER);
    return {
      name,
      isFine: consumerCount > 0 || messageCount === 0,
      detail: `${queue}: ${messageCount} due, ${consumerCount} workers listen`,
      fix: 'start a worker',
    };
  } catch (error) {
    if (error instanceof TimeLimitError) {
      const fix = `rabbitmqctl delete_queue ${queue}: the driver makes it anew (docs/drivers.md)`;
      return { name, isFine: false, detail: `${queue} has no leader`, fix };
    }
    if ((error as { code?: unknown }).code !== NOT_FOUND) throw error;
    return {
      name,
      isFine: true,
      detail: `${queue} is not there yet: the driver makes it`,
      fix: '',
    };
  }
}

/** A broker that is short of disk or memory takes no messages from anybody, and all else of it answers. */
async function resourcesOf(model: ChannelModel): Promise<TimerFinding> {
  const blocked = new Promise<string>((resolve) => model.once('blocked', resolve));
  const channel = await withTimeLimit(model.createConfirmChannel(), LIMIT_MS, NO_ANSWER);
  // Without a queue: it is dropped as soon as it is taken.
  const taken = new Promise<void>((resolve, reject) => {
    channel.on('error', reject);
    channel.publish('', '', Buffer.of(), {}, (error) =>
      error ? reject(error as Error) : resolve(),
    );
  });
  const name = 'RabbitMQ resources';
  let reason: string | void;
  try {
    reason = await withTimeLimit(Promise.race([blocked, taken]), LIMIT_MS, NO_ANSWER);
  } catch (error) {
    if ((error as { code?: unknown }).code !== ACCESS_REFUSED) throw error;
    const fix = 'rabbitmqctl set_permissions: our user has to write to the exchange amq.default';
    return { name, isFine: false, detail: (error as Error).message, fix };
  }
  return {
    name,
    isFine: reason === undefined,
    detail: reason === undefined ? 'it takes messages' : `it takes no messages: ${reason}`,
    fix: 'free its disk or memory: rabbitmqctl status says which, by its alarms',
  };
}
