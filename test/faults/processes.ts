import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { until } from '../support/until';
import { allowed } from '../support/slowness';

const START_LIMIT_MS = 60_000;
/** What the product promises, and a little for the machine. */
const STOP_LIMIT_MS = 20_000;

/** One process of the product or the provider, with what it has logged. */
export class Process {
  readonly #child: ChildProcess;

  constructor(
    readonly name: string,
    file: string,
    env: NodeJS.ProcessEnv,
    private readonly logFile: string,
  ) {
    const log = openSync(logFile, 'a');
    this.#child = spawn(process.execPath, [file], { env, stdio: ['ignore', log, log] });
    closeSync(log);
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Stopped by SIGSTOP: state T in /proc. */
  get isFrozen(): boolean {
    if (!this.isRunning) throw new Error(`${this.name} ended instead:\n${this.#tail()}`);
    return /\) [Tt] /.test(readFileSync(`/proc/${this.pid}/stat`, 'utf8'));
  }

  get log(): string {
    return readFileSync(this.logFile, 'utf8');
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** As a power cut would: no goodbye. */
  async kill(): Promise<void> {
    if (this.isRunning) this.#child.kill('SIGKILL');
    await this.ended();
  }

  /** Asks it to end. Rejects when it takes longer than promised, or does not end with code 0. */
  async stop(): Promise<number> {
    if (!this.isRunning) throw new Error(`${this.name} had ended by itself:\n${this.#tail()}`);
    const startedMs = performance.now();
    this.#child.kill('SIGTERM');
    await this.ended(allowed(STOP_LIMIT_MS)).catch((error: Error) => {
      throw new Error(`${error.message}:\n${this.#tail()}`);
    });
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== 0) {
      throw new Error(`${this.name} ended with ${exitCode ?? signalCode}:\n${this.#tail()}`);
    }
    return Math.round(performance.now() - startedMs);
  }

  /** Resolves when it is gone. */
  async ended(limitMs = 60_000): Promise<void> {
    await until(`${this.name} ends`, () => !this.isRunning, limitMs);
  }

  /** Waits for `url` to answer 2xx. */
  async ready(url: string): Promise<void> {
    await until(
      `${this.name} is ready`,
      async () => {
        if (!this.isRunning) throw new Error(`${this.name} ended at once:\n${this.#tail()}`);
        const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) }).catch(() => null);
        await answer?.arrayBuffer();
        return answer?.ok;
      },
      START_LIMIT_MS,
    );
  }

  #tail(): string {
    return this.log.slice(-2_000);
  }
}
