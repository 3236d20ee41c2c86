import { OwnEngine } from '../../libs/timeout/src/testing/own-engine';
import { describeClosingOnTime } from './closes-on-time';

let server: OwnEngine;
afterAll(() => server?.remove());

describeClosingOnTime('rocketmq', async () => {
  server = await OwnEngine.start('rocketmq');
  return { ROCKETMQ_URL: server.url };
});
