import { OwnEngine } from '../../libs/timeout/src/testing/own-engine';
import { describeClosingOnTime } from './closes-on-time';

let server: OwnEngine;
afterAll(() => server?.remove());

describeClosingOnTime('nats', async () => {
  server = await OwnEngine.start('nats');
  return { NATS_URL: server.url };
});
