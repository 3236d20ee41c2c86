import { connect, credentials } from 'amqplib';
import { closeOne } from './close-orders';
import { compete } from './competitor';

/** Who shares a broker has queues of its own. */
const NAME = process.env.BENCH_PREFIX ?? 'orders';
const [WAITING, DUE] = [`${NAME}-waiting`, `${NAME}-due`];
const PREFETCH = 100;
const AGAIN_MS = 500;

/**
 * A time to live for each message, and a dead letter queue behind it, as tutorials have it: only the head of a
 * queue dies. With `--mixed` orders with other windows stand between each other, as they do in a
 * shop with more than one window; else each is due after the one before it.
 */
compete(async ({ pool, orders }) => {
  const begin = async (hand: boolean): Promise<void> => {
    const address = new URL(process.env.RABBITMQ_URL ?? '');
    const [name, secret] = [address.username, address.password].map(decodeURIComponent);
    const connection = await connect(address.href, {
      credentials: credentials.plain(name ?? '', secret ?? ''),
    });
    connection.on('error', () => undefined);
    connection.once('close', () => void again());
    let isOpen = true;
    connection.once('close', () => (isOpen = false));
    const channel = await connection.createConfirmChannel();
    channel.on('error', () => undefined);
    await channel.assertQueue(DUE, { durable: true });
    await channel.assertQueue(WAITING, {
      durable: true,
      deadLetterExchange: '',
      deadLetterRoutingKey: DUE,
    });
    await channel.prefetch(PREFETCH);
    await channel.consume(DUE, (message) => {
      if (!message) return;
      void closeOne(pool, message.content.toString()).then(() => {
        // A channel that is gone gives the message to the next.
        if (isOpen) channel.ack(message);
      });
    });
    if (!hand) return;
    const waiting = await orders();
    if (process.argv.includes('--mixed'))
      waiting.sort((a, b) => (a.id.slice(-4) < b.id.slice(-4) ? -1 : 1));
    for (const { id, closesAt } of waiting) {
      const expiration = Math.max(0, closesAt.getTime() - Date.now());
      channel.sendToQueue(WAITING, Buffer.from(id), { persistent: true, expiration });
    }
    await channel.waitForConfirms();
  };
  const again = async (): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    await begin(false).catch(() => again());
  };
  await begin(true);
});
