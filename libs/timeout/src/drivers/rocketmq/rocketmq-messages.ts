import { randomUUID } from 'node:crypto';
import { Duration } from 'google-protobuf/google/protobuf/duration_pb';
import { Timestamp } from 'google-protobuf/google/protobuf/timestamp_pb';
import * as definition from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb';
import * as service from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/service_pb';
import { alarmIn, type AlarmMessage } from '../alarm-message';
import { endpoints, resource } from './rocketmq-peer';

/** Where our messages are among those of others. */
export interface Place {
  readonly topic: string;
  /** Consumers of one group share the messages. */
  readonly group: string;
  /** Only messages with this tag are ours. */
  readonly tag: string;
}

/** What acknowledges a message that came. */
export interface Receipt {
  readonly messageId: string;
  readonly handle: string;
}

export interface Received extends AlarmMessage {
  /** When the broker wrote it down to be received, by its clock. */
  readonly storedMs: number | undefined;
}

/** To be delivered at `deliverAtMs` by the broker's clock: at once where that is over. */
export function timedMessage(
  { topic, tag }: Place,
  alarm: AlarmMessage,
  deliverAtMs: number,
): { messageId: string; message: definition.Message } {
  const messageId = randomUUID().replace(/-/g, '').toUpperCase();
  const properties = new definition.SystemProperties()
    .setMessageId(messageId)
    .setTag(tag)
    .setKeysList([alarm.id])
    .setBornTimestamp(Timestamp.fromDate(new Date()))
    .setBornHost('lastcall')
    .setBodyEncoding(definition.Encoding.IDENTITY)
    .setMessageType(definition.MessageType.DELAY)
    .setDeliveryTimestamp(Timestamp.fromDate(new Date(deliverAtMs)));
  const message = new definition.Message()
    .setTopic(resource(topic))
    .setSystemProperties(properties)
    .setBody(Buffer.from(JSON.stringify({ id: alarm.id, atMs: alarm.atMs })));
  return { messageId, message };
}

/** Undefined for what somebody else has sent with our tag. */
export function received(message: definition.Message): Received | undefined {
  const alarm = alarmIn(Buffer.from(message.getBody_asU8()).toString());
  const storedMs = message.getSystemProperties()?.getStoreTimestamp()?.toDate().getTime();
  return alarm && { ...alarm, storedMs };
}

export function receiptOf(message: definition.Message): Receipt {
  const properties = message.getSystemProperties();
  const [messageId, handle] = [properties?.getMessageId(), properties?.getReceiptHandle()];
  return { messageId: messageId ?? '', handle: handle ?? '' };
}

/** What a proxy has to know of a consumer before it gives it anything. */
export function consumerSettings(
  { topic, group, tag }: Place,
  endpoint: string,
  pollMs: number,
): service.TelemetryCommand {
  const entry = new definition.SubscriptionEntry()
    .setTopic(resource(topic))
    .setExpression(byTag(tag));
  const subscription = new definition.Subscription()
    .setGroup(resource(group))
    .setLongPollingTimeout(duration(pollMs))
    .setSubscriptionsList([entry]);
  const settings = new definition.Settings()
    .setClientType(definition.ClientType.SIMPLE_CONSUMER)
    .setAccessPoint(endpoints(endpoint))
    .setRequestTimeout(duration(3_000))
    .setUserAgent(new definition.UA().setLanguage(definition.Language.NODE_JS))
    .setSubscription(subscription);
  return new service.TelemetryCommand().setSettings(settings);
}

export function receiveRequest(
  { group, tag }: Place,
  queue: definition.MessageQueue,
  limits: { readonly batch: number; readonly pollMs: number; readonly hiddenMs: number },
): service.ReceiveMessageRequest {
  return new service.ReceiveMessageRequest()
    .setGroup(resource(group))
    .setMessageQueue(queue)
    .setFilterExpression(byTag(tag))
    .setBatchSize(limits.batch)
    .setAutoRenew(false)
    .setLongPollingTimeout(duration(limits.pollMs))
    .setInvisibleDuration(duration(limits.hiddenMs));
}

export function acknowledgement(
  { topic, group }: Place,
  { messageId, handle }: Receipt,
): service.AckMessageRequest {
  const entry = new service.AckMessageEntry().setMessageId(messageId).setReceiptHandle(handle);
  return new service.AckMessageRequest()
    .setGroup(resource(group))
    .setTopic(resource(topic))
    .setEntriesList([entry]);
}

/** Shown to others again after so long. */
export function hiding(
  { topic, group }: Place,
  { messageId, handle }: Receipt,
  hiddenMs: number,
): service.ChangeInvisibleDurationRequest {
  return new service.ChangeInvisibleDurationRequest()
    .setGroup(resource(group))
    .setTopic(resource(topic))
    .setMessageId(messageId)
    .setReceiptHandle(handle)
    .setInvisibleDuration(duration(hiddenMs));
}

function byTag(tag: string): definition.FilterExpression {
  return new definition.FilterExpression().setType(definition.FilterType.TAG).setExpression(tag);
}

function duration(ms: number): Duration {
  return new Duration().setSeconds(Math.floor(ms / 1_000)).setNanos((ms % 1_000) * 1_000_000);
}
