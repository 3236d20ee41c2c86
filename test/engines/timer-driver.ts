import type { Engine } from './engine';
import { runJest } from './run-jest';

/** A real server, as Debian, Maven or Go has it, judges the timer driver that is named after it. */
function timerDriver(name: string, driver: string): Engine {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- an ES module without types
  const starter = require(`../../scripts/services/${driver}.mjs`) as Record<
    string,
    () => string | undefined
  >;
  return {
    name,
    judges: `the contract of the timer driver ${driver}, and closing on time with it`,
    missing: () => starter[`${driver}IsMissing`]?.(),
    judge: () => runJest([`(drivers|closing)/${driver}[./]`]),
  };
}

export const timerDrivers: readonly Engine[] = [
  timerDriver('NATS', 'nats'),
  timerDriver('RabbitMQ', 'rabbitmq'),
  timerDriver('RocketMQ', 'rocketmq'),
];
