import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import { pino } from 'pino';
import { Draining } from '../draining';
import { EventStreams, type StreamedEvent } from './event-streams';

const IN_ALL = 1_000;
const A_CUSTOMER = 10;

async function* untilAborted(signal: AbortSignal): AsyncGenerator<StreamedEvent> {
  yield { id: '1', type: 'order.placed' };
  if (!signal.aborted) await once(signal, 'abort');
}

function open(streams: EventStreams, customerId: string) {
  const raw = new ServerResponse(new IncomingMessage(new Socket()));
  const reply = { raw, hijack: () => ({ raw }) } as unknown as FastifyReply;
  const reader = { customerId, endsAtMs: Date.now() + 60_000 };
  return { raw, ended: streams.serve(reply, reader, untilAborted) };
}

it('has room for so many streams in all, whoever opens them, and again when one ends', async () => {
  const streams = new EventStreams(new Draining(), pino({ level: 'silent' }));
  const opened = Array.from({ length: IN_ALL }, (_, i) =>
    open(streams, `customer ${Math.floor(i / A_CUSTOMER)}`),
  );
  await expect(open(streams, 'one more').ended).rejects.toMatchObject({ code: 'busy' });
  const [first, ...others] = opened;
  // As Node says that the connection is gone.
  first?.raw.emit('close');
  await first?.ended;
  const next = open(streams, 'one more');
  for (const { raw, ended } of [...others, next]) {
    raw.emit('close');
    await ended;
  }
});
