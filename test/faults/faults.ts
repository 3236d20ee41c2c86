import { ALARM_FAULTS } from './alarms.faults';
import { BACKLOG_FAULTS } from './backlog.faults';
import { BURST } from './burst.faults';
import { CLOCK_FAULTS } from './clock.faults';
import { CLUSTER_FAULTS } from './cluster.faults';
import { CRASH_FAULTS } from './crash.faults';
import { DISK_FAULTS } from './disk.faults';
import type { Fault } from './fault';
import { HUNG_SESSIONS } from './hung-session.faults';
import { LATENESS_FAULTS } from './lateness.faults';
import { POSTGRES_FAULTS } from './postgres.faults';
import { PRODUCT_FAULTS } from './product.faults';
import { MONEY_FAULTS } from './money.faults';
import { PROVIDER_FAULTS } from './provider.faults';
import { REDIS_FAULTS } from './redis.faults';
import { STORM } from './storm.faults';
import { STREAM_FAULTS } from './stream.faults';
import { WEBHOOK_FAULTS } from './webhook.faults';
import { WORKER_FAULTS } from './worker.faults';

/** Every row of the fault table of docs/faults.md, in its order. */
export const FAULTS: readonly Fault[] = [
  ...CRASH_FAULTS,
  ...REDIS_FAULTS,
  ...CLUSTER_FAULTS,
  ...POSTGRES_FAULTS,
  ...HUNG_SESSIONS,
  ...PRODUCT_FAULTS,
  ...DISK_FAULTS,
  ...WEBHOOK_FAULTS,
  ...PROVIDER_FAULTS,
  ...MONEY_FAULTS,
  ...STREAM_FAULTS,
  ...WORKER_FAULTS,
  ...ALARM_FAULTS,
  ...LATENESS_FAULTS,
  ...CLOCK_FAULTS,
  ...BACKLOG_FAULTS,
  BURST,
  STORM,
];
