import { connect } from 'node:net';
import type { Redis } from 'ioredis';

const LIMIT_MS = 500;
/** An error, as Redis writes it. */
const ERROR = /^-([^\r\n]+)\r\n/;

/**
 * What a Redis tells who connects before it hangs up on it: that it takes no more clients, or none from other machines.
 * Who has written something by then may hear of nothing but the end; this writes nothing. Undefined where it says
 * nothing, and where nobody knows which of several it was.
 */
export async function saidUnasked(client: Redis): Promise<Error | undefined> {
  const { host, port, path, tls, sentinels } = client.options;
  if (tls || sentinels || (!path && !port)) return undefined;
  const socket = path
    ? connect(path)
    : connect({ host: host ?? '127.0.0.1', port: port as number });
  let said = '';
  socket.on('data', (data) => (said += data.toString()));
  socket.setTimeout(LIMIT_MS, () => socket.destroy());
  await new Promise<void>((resolve) => {
    socket.once('error', () => resolve());
    socket.once('close', () => resolve());
  });
  socket.destroy();
  const [, message] = ERROR.exec(said) ?? [];
  return message === undefined ? undefined : new Error(message);
}
