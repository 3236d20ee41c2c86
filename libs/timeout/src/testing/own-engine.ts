import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DriverStore } from '../drivers/driver-bench';

interface EngineServer extends Omit<DriverStore, 'connections'> {
  readonly url: string;
  /** What its operators have, where it has such a program. */
  control?(...args: string[]): Promise<unknown>;
  stop(): Promise<void>;
}

const ESTABLISHED = '01';

type Start = (how: { folder: string; say(line: string): void }) => Promise<EngineServer>;

/** A server of others for one file of tests, to be killed, frozen, emptied and started again. */
export class OwnEngine implements DriverStore {
  private constructor(private readonly server: EngineServer) {}

  /** `startRabbitmq` of `scripts/services/rabbitmq.mjs`, and so on. */
  static async start(name: string): Promise<OwnEngine> {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- an ES module without types
    const services = require(`../../../../scripts/services/${name}.mjs`) as Record<string, Start>;
    const start = services[`start${name[0]?.toUpperCase()}${name.slice(1)}`] as Start;
    const folder = mkdtempSync(join(tmpdir(), `lastcall-${name}-`));
    return new OwnEngine(await start({ folder, say: (line) => console.error(line) }));
  }

  get url(): string {
    return this.server.url;
  }

  kill(): Promise<void> {
    return this.server.kill();
  }

  start(): Promise<void> {
    return this.server.start();
  }

  freeze(): void {
    this.server.freeze();
  }

  thaw(): void {
    this.server.thaw();
  }

  flush(): Promise<void> {
    return this.server.flush();
  }

  /** As an operator, by the program of this server for that (`rabbitmqctl`). */
  async control(...args: string[]): Promise<void> {
    if (!this.server.control) throw new Error('This server has no program to control it');
    await this.server.control(...args);
  }

  /** Established connections to its port, as Linux tells of them. */
  async connections(): Promise<number> {
    const port = Number(new URL(this.url.replace(/^\w+/, 'http')).port);
    const to = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
    return ['tcp', 'tcp6']
      .flatMap((name) => readFileSync(`/proc/self/net/${name}`, 'utf8').split('\n'))
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , remote, state]) => remote?.endsWith(to) && state === ESTABLISHED).length;
  }

  async remove(): Promise<void> {
    await this.server.stop();
  }
}
