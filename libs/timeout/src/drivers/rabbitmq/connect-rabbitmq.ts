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
