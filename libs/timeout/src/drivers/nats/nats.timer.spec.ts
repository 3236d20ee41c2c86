import { natsAddress } from './nats-address';
import { timer } from './nats.timer';

const complaint = (url: string) =>
  timer.settings?.NATS_URL?.safeParse(url).error?.issues.map(({ message }) => message);

describe('NATS_URL', () => {
  it('says who we are there, which the client does not read from addresses', () => {
    expect(natsAddress('nats://shop:50%25@h1:4222,nats://h2')).toEqual({
      servers: ['h1:4222', 'h2'],
      user: 'shop',
      pass: '50%',
    });
    expect(natsAddress('nats://s3cret@h1')).toEqual({ servers: ['h1'], token: 's3cret' });
    expect(natsAddress('nats://[::1]:4222')).toEqual({ servers: ['[::1]:4222'] });
  });

  it('takes no server without TLS where it says tls', () => {
    expect(natsAddress('tls://h1')).toEqual({ servers: ['h1'], tls: {} });
  });

  it('is refused with how to write it', () => {
    expect(complaint('nats://shop:a@h1,nats://shop:a@h2,nats://h3')).toBeUndefined();
    expect(complaint('nats://shop:50%@h1')).toEqual([
      'must write a "%" in a name or a password as %25',
    ]);
    expect(complaint('nats://h1,kafka://h2')).toEqual([
      expect.stringMatching(/^must be a URL that begins with nats:/),
    ]);
    for (const url of ['nats://shop:a@h1,nats://shop:b@h2', 'tls://h1,nats://h2']) {
      expect(complaint(url)).toEqual([
        'must name the same user, and the same protocol, for each server',
      ]);
    }
  });
});
