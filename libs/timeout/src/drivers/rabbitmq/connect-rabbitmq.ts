import { type ChannelModel, connect, credentials } from 'amqplib';

/**
 * Connects to `amqp://user:password@host`, of which amqplib reads the name and the password otherwise than URLs
 * have them: one that is not ASCII is refused.
 */
export function connectRabbitmq(
  address: string,
  options: { readonly timeout: number; readonly noDelay?: boolean },
): Promise<ChannelModel> {
  const { username, password } = new URL(address);
  const isNamed = username !== '' || password !== '';
  const [name, secret] = [username, password].map(decodeURIComponent) as [string, string];
  return connect(address, {
    ...options,
    ...(isNamed ? { credentials: credentials.plain(name, secret) } : {}),
  });
}

/** Without a word: the other side may be silent. */
export function hangUp(model: ChannelModel): void {
  model.removeAllListeners('close').removeAllListeners('error');
  // It is we who hang up. Without an error amqplib would go on with its heartbeats.
  model.on('error', () => undefined);
  const { stream } = model.connection as unknown as { stream: { destroy(why: Error): void } };
  stream.destroy(new Error('hung up'));
}
