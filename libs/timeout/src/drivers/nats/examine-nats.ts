import { JetStreamApiError, jetstreamManager, type StreamInfo } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type { TimerFinding } from '../../timer-driver-kind';
import { natsAddress } from './nats-address';
import { MEND_SERVER, MEND_STREAM, serverSchedules } from './nats-versions';

const LIMIT_MS = 1_500;
const NOT_FOUND = 404;

/** Whether this server schedules, and the stream of our alarms does. */
export async function examineNats(servers: string, stream: string): Promise<TimerFinding[]> {
  const connection = await connect({
    ...{ ...natsAddress(servers), timeout: LIMIT_MS, reconnect: false },
  });
  try {
    return [versionOf(connection), ...(await streamOf(connection, stream))];
  } finally {
    await connection.close();
  }
}

function versionOf({ info }: NatsConnection): TimerFinding {
  return {
    name: 'NATS version',
    isFine: serverSchedules(info?.version),
    detail: info?.version ?? 'not told',
    fix: MEND_SERVER,
  };
}

async function streamOf(connection: NatsConnection, name: string): Promise<TimerFinding[]> {
  const manager = await jetstreamManager(connection, { timeout: LIMIT_MS });
  let info: StreamInfo;
  try {
    info = await manager.streams.info(name);
  } catch (error) {
    if (!(error instanceof JetStreamApiError) || error.status !== NOT_FOUND) throw error;
    const detail = `${name} is not there yet: the driver makes it`;
    return [{ name: 'NATS stream', isFine: true, detail, fix: '' }];
  }
  const { num_replicas: copies, allow_msg_schedules: schedules = false } = info.config;
  return [
    {
      name: 'NATS stream',
      isFine: schedules,
      detail: `${name}: ${info.state.messages} messages in ${copies} copies`,
      fix: MEND_STREAM,
    },
  ];
}
