import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { RaceOrder, RacerSays } from './racer';

/** Starting compiles every source; on a busy machine that takes a while. */
const ANSWER_LIMIT_MS = 90_000;

/** A process of its own that takes part in races, one after the other. */
export class Racer {
  readonly #process: ChildProcess;

  constructor() {
    this.#process = fork(join(__dirname, 'racer.ts'), {
      execArgv: ['-r', join(__dirname, '..', 'support', 'swc-register.cjs'), '--no-warnings'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
  }

  async start(order: RaceOrder): Promise<string> {
    const said = await this.#tell(order);
    return ('ready' in said && said.ready.url) || '';
  }

  /** The errors of its background work. */
  async stop(): Promise<string[]> {
    const said = await this.#tell('stop');
    return 'done' in said ? said.done.errors : [];
  }

  end(): void {
    this.#process.kill('SIGKILL');
  }

  #tell(message: RaceOrder | 'stop'): Promise<RacerSays> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        clearTimeout(limit);
        this.#process.removeListener('message', heard).removeListener('exit', died);
        act();
      };
      const heard = (said: unknown): void => settle(() => resolve(said as RacerSays));
      const died = (): void => settle(() => reject(new Error('A racing process ended')));
      const limit = setTimeout(
        () => settle(() => reject(new Error('A racing process does not answer'))),
        ANSWER_LIMIT_MS,
      );
      this.#process.on('message', heard).on('exit', died);
      this.#process.send(message);
    });
  }
}
