/** Where RocketMQ is, and who we are there. */
export interface RocketmqAddress {
  /** Proxies, each `host:port`. */
  readonly endpoints: readonly string[];
  readonly topic: string;
  readonly tls: boolean;
  readonly credentials?: { readonly accessKey: string; readonly secretKey: string };
}

const SHAPE =
  /^rocketmq(s?):\/\/(?:([^:@/]+):([^@/]+)@)?([^:@/,]+:\d+(?:,[^:@/,]+:\d+)*)(?:\/([\w%-]{1,127}))?$/;
const TOPIC = 'lastcall-alarms';

export const ROCKETMQ_URL_RULE =
  'must look like rocketmq://host:8081/topic: rocketmqs:// for TLS, key:secret@ before the host, ' +
  'several hosts with commas between them';

/** Undefined when `url` is none: {@link ROCKETMQ_URL_RULE}. */
export function parseRocketmqUrl(url: string): RocketmqAddress | undefined {
  const [, tls, accessKey, secretKey, hosts, topic = TOPIC] = SHAPE.exec(url) ?? [];
  if (!hosts) return undefined;
  const address = { endpoints: hosts.split(','), topic, tls: tls === 's' };
  if (!accessKey || !secretKey) return address;
  const [key, secret] = [accessKey, secretKey].map(decodeURIComponent) as [string, string];
  return { ...address, credentials: { accessKey: key, secretKey: secret } };
}
