import { timer } from './rocketmq.timer';

const complaint = (url: string) =>
  timer.settings?.ROCKETMQ_URL?.safeParse(url).error?.issues.map(({ message }) => message);

describe('ROCKETMQ_URL', () => {
  it('may have a secret with a "%" that is written as %25', () => {
    expect(complaint('rocketmq://key:50%25@h1:8081/alarms')).toBeUndefined();
  });

  it('is refused with how to write it', () => {
    expect(complaint('rocketmq://key:50%@h1:8081/alarms')).toEqual([
      'must write a "%" in a name or a password as %25',
    ]);
    expect(complaint('kafka://h1')).toEqual([expect.stringMatching(/^must look like rocketmq:/)]);
  });
});
