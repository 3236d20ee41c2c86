import { OwnEngine } from '../../testing/own-engine';
import { describeTimerDriver } from '../driver.contract';
import { NATS_ABILITIES } from './nats.abilities';
import { NatsDriver } from './nats.driver';

let server: OwnEngine;
beforeAll(async () => (server = await OwnEngine.start('nats')));
afterAll(() => server?.remove());

describeTimerDriver('NatsDriver', {
  create: ({ namespace: stream, ...wish }) =>
    new NatsDriver({ ...wish, stream, servers: server.url }),
  abilities: NATS_ABILITIES,
  store: () => server,
});
