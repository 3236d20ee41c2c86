import { createHmac } from 'node:crypto';
import {
  type CallOptions,
  type ClientDuplexStream,
  type ClientReadableStream,
  type ClientUnaryCall,
  credentials,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import * as definition from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb';
import * as service from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/service_pb';
import { MessagingServiceClient } from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/service_grpc_pb';
import type { RocketmqAddress } from './rocketmq-address';

type Unary<Request, Answer> = (
  request: Request,
  metadata: Metadata,
  options: Partial<CallOptions>,
  done: (error: ServiceError | null, answer: Answer) => void,
) => ClientUnaryCall;

interface WithStatus {
  getStatus(): definition.Status | undefined;
}

export type Telemetry = ClientDuplexStream<service.TelemetryCommand, service.TelemetryCommand>;

/** What the proxy tells of a client, and what it refuses without. */
const PROTOCOL = { 'x-mq-protocol': 'v2', 'x-mq-language': 'HTTP', 'x-mq-client-version': '1.0.8' };
const CHANNEL = {
  // Closed with this driver, and not when its last user in the process has gone.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 500,
};

/**
 * The calls of one proxy, each with a limit of time, by the stubs of Apache's client. Not by its
 * `Producer` and `SimpleConsumer`: those wait without limit when they start, go on connecting after
 * they were shut down, and have errors of a stream end the process (docs/adr/0039).
 */
export class RocketmqPeer {
  readonly #stub: MessagingServiceClient;

  constructor(
    readonly endpoint: string,
    private readonly address: RocketmqAddress,
    private readonly clientId: string,
  ) {
    const channel = address.tls ? credentials.createSsl() : credentials.createInsecure();
    this.#stub = new MessagingServiceClient(endpoint, channel, CHANNEL);
  }

  /** The queues of a topic, and where they are. */
  async queryRoute(limitMs: number): Promise<definition.MessageQueue[]> {
    const request = new service.QueryRouteRequest()
      .setTopic(resource(this.address.topic))
      .setEndpoints(endpoints(this.endpoint));
    const answer = await this.#call(this.#stub.queryRoute.bind(this.#stub), request, limitMs);
    return answer.getMessageQueuesList();
  }

  /** Resolves with the handle to recall it by; '' for one that was not delayed. */
  async send(message: definition.Message, limitMs: number): Promise<string> {
    const request = new service.SendMessageRequest().setMessagesList([message]);
    const answer = await this.#call(this.#stub.sendMessage.bind(this.#stub), request, limitMs);
    return answer.getEntriesList()[0]?.getRecallHandle() ?? '';
  }

  async recall(handle: string, limitMs: number): Promise<void> {
    const request = new service.RecallMessageRequest()
      .setTopic(resource(this.address.topic))
      .setRecallHandle(handle);
    await this.#call(this.#stub.recallMessage.bind(this.#stub), request, limitMs);
  }

  async acknowledge(request: service.AckMessageRequest, limitMs: number): Promise<void> {
    await this.#call(this.#stub.ackMessage.bind(this.#stub), request, limitMs);
  }

  async hide(request: service.ChangeInvisibleDurationRequest, limitMs: number): Promise<void> {
    await this.#call(this.#stub.changeInvisibleDuration.bind(this.#stub), request, limitMs);
  }

  async heartbeat(group: string, limitMs: number): Promise<void> {
    const request = new service.HeartbeatRequest()
      .setClientType(definition.ClientType.SIMPLE_CONSUMER)
      .setGroup(resource(group));
    await this.#call(this.#stub.heartbeat.bind(this.#stub), request, limitMs);
  }

  async sayGoodbye(group: string, limitMs: number): Promise<void> {
    const request = new service.NotifyClientTerminationRequest().setGroup(resource(group));
    await this.#call(this.#stub.notifyClientTermination.bind(this.#stub), request, limitMs);
  }

  receive(
    request: service.ReceiveMessageRequest,
    limitMs: number,
  ): ClientReadableStream<service.ReceiveMessageResponse> {
    return this.#stub.receiveMessage(request, this.#metadata(), {
      deadline: Date.now() + limitMs,
    });
  }

  telemetry(): Telemetry {
    return this.#stub.telemetry(this.#metadata());
  }

  close(): void {
    this.#stub.close();
  }

  #call<Request, Answer extends WithStatus>(
    method: Unary<Request, Answer>,
    request: Request,
    limitMs: number,
  ): Promise<Answer> {
    const deadline = Date.now() + limitMs;
    return new Promise((resolve, reject) => {
      method(request, this.#metadata(), { deadline }, (error, answer) => {
        const problem = error ?? problemOf(answer.getStatus());
        if (problem) reject(problem);
        else resolve(answer);
      });
    });
  }

  #metadata(): Metadata {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(PROTOCOL)) metadata.set(name, value);
    const at = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
    metadata.set('x-mq-date-time', at);
    metadata.set('x-mq-client-id', this.clientId);
    if (this.address.credentials) {
      const { accessKey, secretKey } = this.address.credentials;
      const signature = createHmac('sha1', secretKey).update(at).digest('hex').toUpperCase();
      metadata.set(
        'authorization',
        `MQv2-HMAC-SHA1 Credential=${accessKey}, SignedHeaders=x-mq-date-time, Signature=${signature}`,
      );
    }
    return metadata;
  }
}

export function problemOf(status: definition.Status | undefined): Error | undefined {
  const code = status?.getCode();
  // Some of several were taken, which their entries tell: a receipt that is over is nobody's.
  if (code === definition.Code.OK || code === definition.Code.MULTIPLE_RESULTS) return undefined;
  return new Error(`RocketMQ: ${status?.getMessage() ?? 'no status'} (${code ?? 'none'})`);
}

export function resource(name: string): definition.Resource {
  return new definition.Resource().setName(name);
}

export function endpoints(endpoint: string): definition.Endpoints {
  const [host = '', port] = endpoint.split(':');
  const { IPV4, DOMAIN_NAME } = definition.AddressScheme;
  const one = new definition.Address().setHost(host).setPort(Number(port));
  const scheme = /^[\d.]+$/.test(host) ? IPV4 : DOMAIN_NAME;
  return new definition.Endpoints().setScheme(scheme).setAddressesList([one]);
}
