'use strict';
Object.defineProperty(exports, '__esModule', { value: true });
exports.FaultyProxy = void 0;
const node_net_1 = require('node:net');
/**
 * A TCP proxy on 127.0.0.1 that can be slow, go silent, cut connections or refuse them. Every
 * connection is served by one upstream connection of its own; order and content are kept.
 */
class FaultyProxy {
  #pairs = new Set();
  #server;
  #port = 0;
  #latencyMs = 0;
  #paused;
  #resume = () => undefined;
  constructor(targetPort) {
    this.targetPort = targetPort;
    this.#server = (0, node_net_1.createServer)({ noDelay: true }, (client) => this.#serve(client));
  }
  static async to(targetPort) {
    const proxy = new FaultyProxy(targetPort);
    await proxy.#listen();
    return proxy;
  }
  get port() {
    return this.#port;
  }
  /** `url` with this proxy's address instead of the server's. */
  through(url) {
    const proxied = new URL(url);
    proxied.hostname = '127.0.0.1';
    proxied.port = String(this.#port);
    return proxied.href.replace(/\/$/, '');
  }
  /** Everything takes so much longer, in each direction. */
  delay(latencyMs) {
    this.#latencyMs = latencyMs;
  }
  /** Nothing comes through any more, and nobody is told: connections stay open. */
  pause() {
    this.#paused ??= new Promise((resolve) => (this.#resume = resolve));
  }
  resume() {
    this.#paused = undefined;
    this.#resume();
  }
  /** Cuts every connection with a reset, as a firewall that was restarted does. */
  reset() {
    for (const { client, upstream } of this.#pairs) {
      client.resetAndDestroy();
      upstream.destroy();
    }
  }
  /** Cuts every connection and listens no more: connecting is refused. */
  async refuse() {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(() => resolve()));
    this.reset();
    await closed;
  }
  async restore() {
    this.#latencyMs = 0;
    this.resume();
    if (!this.#server.listening) await this.#listen();
  }
  close() {
    this.resume();
    return this.refuse();
  }
  #listen() {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject).listen(this.#port, '127.0.0.1', () => {
        this.#server.off('error', reject);
        this.#port = this.#server.address().port;
        resolve();
      });
    });
  }
  #serve(client) {
    const upstream = (0, node_net_1.connect)({
      port: this.targetPort,
      host: '127.0.0.1',
      noDelay: true,
    });
    const pair = { client, upstream };
    this.#pairs.add(pair);
    this.#forward(client, upstream);
    this.#forward(upstream, client);
    const end = () => {
      this.#pairs.delete(pair);
      client.destroy();
      upstream.destroy();
    };
    // What breaks is what the fault wants broken.
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
  }
  /** In order: each piece waits for the one before it, then until its own time has come. */
  #forward(from, to) {
    let before = Promise.resolve();
    from.on('data', (bytes) => {
      const dueMs = performance.now() + this.#latencyMs;
      from.pause();
      before = before.then(async () => {
        // Reading goes on during the latency: it is a slow line, not a narrow one.
        if (this.#latencyMs > 0) from.resume();
        await untilMs(dueMs);
        while (this.#paused) await this.#paused;
        if (to.writable) to.write(bytes);
        from.resume();
      });
    });
    from.on('end', () => void before.then(() => to.end()));
  }
}
exports.FaultyProxy = FaultyProxy;
async function untilMs(dueMs) {
  const leftMs = dueMs - performance.now();
  if (leftMs > 0) await new Promise((resolve) => setTimeout(resolve, leftMs));
}
//# sourceMappingURL=proxy.js.map
