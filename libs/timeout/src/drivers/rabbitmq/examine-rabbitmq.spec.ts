import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { examineRabbitmq } from './examine-rabbitmq';

const short = (text: string): Buffer => Buffer.concat([Buffer.of(text.length), Buffer.from(text)]);
const numbers = (...all: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(4 * all.length);
  all.forEach((one, nth) => bytes.writeUInt32BE(one, 4 * nth));
  return bytes;
};
const long = (text: string | Buffer): Buffer =>
  Buffer.concat([numbers(text.length), Buffer.from(text)]);

/** Methods of AMQP 0-9-1, each with what it says; a broker's answers by what it is told. */
type Answers = Readonly<Record<string, readonly [method: string, ...fields: Buffer[]]>>;

const LETS_IN: Answers = {
  // The protocol's header: start.
  AMQP: [
    '10.10',
    Buffer.of(0, 9),
    long(Buffer.concat([short('version'), Buffer.from('S'), long('3.13.7')])),
    long('PLAIN'),
    long('en_US'),
  ],
  // Start-ok: at most 2,047 channels, frames of 128 KiB, and a sign of life each minute.
  '10.11': ['10.30', Buffer.of(0x07, 0xff, 0, 2, 0, 0, 0, 60)],
  // Open: open-ok.
  '10.40': ['10.41', short('')],
};
const ANSWERS_ALL: Answers = {
  ...LETS_IN,
  // Close, of the connection.
  '10.50': ['10.51'],
  // Open, and close, of a channel.
  '20.10': ['20.11', long('')],
  '20.40': ['20.41'],
  // Declare, passively, of a queue: nothing is in it.
  '50.10': ['50.11', short('due'), numbers(0, 1)],
  // Select, of confirms.
  '85.10': ['85.11'],
};

/** A broker as far as it is looked at: what it has no answer to it is silent about. */
function serve(socket: Socket, answers: Answers): void {
  let heard = Buffer.alloc(0);
  const answer = (to: string, channel: number): void => {
    const [method, ...fields] = answers[to] ?? [];
    if (!method) return;
    const [cls = 0, id = 0] = method.split('.').map(Number);
    const payload = Buffer.concat([Buffer.of(0, cls, 0, id), ...fields]);
    socket.write(Buffer.concat([Buffer.of(1, 0, channel), long(payload), Buffer.of(0xce)]));
  };
  socket.on('data', (chunk: Buffer) => {
    heard = Buffer.concat([heard, chunk]);
    if (heard.toString('latin1', 0, 4) === 'AMQP') {
      heard = heard.subarray(8);
      answer('AMQP', 0);
    }
    // A frame: its type, its channel, how long it is, what it says, and its end.
    while (heard.length >= 8 && heard.length >= 8 + heard.readUInt32BE(3)) {
      const [type, channel, size] = [heard[0], heard[2] ?? 0, heard.readUInt32BE(3)];
      if (type === 1) answer(`${heard.readUInt16BE(7)}.${heard.readUInt16BE(9)}`, channel);
      heard = heard.subarray(8 + size);
    }
  });
}

describe('examineRabbitmq', () => {
  let server: Server;
  let answers: Answers;
  const sockets: Socket[] = [];
  beforeEach(async () => {
    server = createServer((socket) => {
      sockets.push(socket.on('error', () => undefined));
      serve(socket, answers);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
    server.close();
  });
  const examine = () => {
    const { port } = server.address() as AddressInfo;
    return examineRabbitmq(`amqp://lastcall:secret@127.0.0.1:${port}`, 'due');
  };

  it('ends in bounded time where the broker says no more, once it has let us in', async () => {
    answers = LETS_IN;
    const looking = examine();
    const [socket] = (await once(server, 'connection')) as [Socket];
    const ended = once(socket, 'close');
    await expect(looking).rejects.toThrow('no answer within 1500 ms');
    // Left open it would keep the process that has looked.
    await ended;
  });

  it('says why the broker takes no message of ours', async () => {
    const why = "ACCESS_REFUSED - write access to exchange 'amq.default' in vhost '/' refused";
    // Publish: close, of the channel, as of a method of the class `basic`.
    const refused = [Buffer.of(403 >> 8, 403 & 255), short(why), Buffer.of(0, 60, 0, 40)];
    answers = { ...ANSWERS_ALL, '60.40': ['20.40', ...refused] };
    expect((await examine()).at(-1)).toMatchObject({
      ...{ name: 'RabbitMQ resources', isFine: false },
      detail: expect.stringContaining(why),
      fix: expect.stringContaining('rabbitmqctl set_permissions'),
    });
  });

  it('finds nothing wrong with one that answers, and takes messages', async () => {
    answers = { ...ANSWERS_ALL, '60.40': ['60.80', Buffer.of(0, 0, 0, 0, 0, 0, 0, 1, 0)] };
    const findings = await examine();
    expect(findings.map(({ name, isFine, detail }) => [name, isFine, detail])).toEqual([
      ['RabbitMQ version', true, '3.13.7'],
      ['RabbitMQ queue', true, 'due: 0 due, 1 workers listen'],
      ['RabbitMQ resources', true, 'it takes messages'],
    ]);
  });
});
