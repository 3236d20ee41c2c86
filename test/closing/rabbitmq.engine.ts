import { OwnEngine } from '../../libs/timeout/src/testing/own-engine';
import { describeClosingOnTime } from './closes-on-time';

let server: OwnEngine;
afterAll(() => server?.remove());

describeClosingOnTime('rabbitmq', async () => {
  server = await OwnEngine.start('rabbitmq');
  return { RABBITMQ_URL: server.url };
});
