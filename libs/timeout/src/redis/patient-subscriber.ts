import type { Cluster, Redis } from 'ioredis';

/** What ioredis listens with to a cluster: a connection to one of its nodes, and to another where that ends. */
interface ClusterSubscriber {
  getInstance(): Redis | null;
  /** The last that was connected: its channels are those of the next. */
  lastActiveSubscriber?: Redis | null;
  selectSubscriber: () => void;
  /** It looks it up anew for each connection. */
  onSubscriberEnd: () => void;
}

/** What a connection has been told to do: before it was lost, and since. */
type Conditions = Partial<
  Record<
    'condition' | 'prevCondition',
    { readonly subscriber: { isEmpty(): boolean } | false } | null
  >
>;

/**
 * Has it pause before it tries another node, as by itself it does not: while a cluster is away it would try
 * thousands of times a second, and take leave of the last that was there each time, until its process has
 * no memory left.
 */
export function pauseBetweenSubscribers(
  cluster: Cluster,
  pauseMs: (tries: number) => number,
): void {
  const { subscriber } = cluster as unknown as { readonly subscriber?: ClusterSubscriber };
  // Nothing of it is public: a client of another version goes on as it is.
  if (typeof subscriber?.onSubscriberEnd !== 'function') return;
  const another = subscriber.onSubscriberEnd;
  // Since it was let in: a node that answers, and lets nobody in, is tried later and later as well.
  let tries = 0;
  selectAnother(subscriber, () => (tries = 0));
  subscriber.onSubscriberEnd = () => {
    const ended = subscriber.getInstance();
    const again = setTimeout(() => {
      // What the cluster tells of its nodes may have given it another meanwhile.
      if (subscriber.getInstance() === ended) another();
    }, pauseMs(tries++));
    again.unref();
  };
}

/**
 * Every try would take leave of the last that was connected once more, by a listener and a timer. And where one
 * that was left is answered late, ioredis takes the next for connected before it listens to anything: left as
 * well, it would hand on no channels, and nobody would hear any more.
 */
function selectAnother(subscriber: ClusterSubscriber, letIn: () => void): void {
  const select = subscriber.selectSubscriber;
  let listening: Redis | undefined;
  subscriber.selectSubscriber = () => {
    const last = subscriber.lastActiveSubscriber;
    if (last && listens(last)) listening = last;
    else if (listening) subscriber.lastActiveSubscriber = listening;
    const left = [last, subscriber.getInstance()];
    select.call(subscriber);
    for (const client of left) if (client) client.disconnect = () => undefined;
    subscriber.getInstance()?.once('ready', letIn);
  };
}

/** As ioredis looks for its channels. */
function listens(client: Redis): boolean {
  const { condition, prevCondition } = client as unknown as Conditions;
  const channels = (condition ?? prevCondition)?.subscriber;
  return channels ? !channels.isEmpty() : false;
}
