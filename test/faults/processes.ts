import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { until } from '../support/until';
import { allowed } from '../support/slowness';

const START_LIMIT_MS = 60_000;
/** What the product promises, and a little for the machine. */
const STOP_LIMIT_MS = 20_000;

/** One process of the product or the provider, with what it has logged. */
export class Process {
  readonly #child: ChildProcess;
  #isAsked = false;
  /** Where its own lines begin: of one name there may be several, one after the other. */
  readonly #logFrom: number;

  constructor(
    readonly name: string,
    file: string,
    env: NodeJS.ProcessEnv,
    private readonly logFile: string,
  ) {
    const log = openSync(logFile, 'a');
    this.#logFrom = fstatSync(log).size;
    this.#child = spawn(process.execPath, [file], { env, stdio: ['ignore', log, log] });
    closeSync(log);
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** By the kernel at once, as a failpoint has it: whoever ends by an error of its own has an exit code. */
  get isKilled(): boolean {
    return this.#child.signalCode === 'SIGKILL';
  }

  /** What it said last, where it is gone and nobody here has asked it to. */
  get endedByItself(): string | undefined {
    if (this.isRunning || this.#isAsked) return undefined;
    return `${this.name} ended by itself (${this.#howItEnded}):\n${this.#tail()}`;
  }

  /** Stopped by SIGSTOP: state T in /proc. */
  get isFrozen(): boolean {
    if (!this.isRunning) throw new Error(`${this.name} ended instead:\n${this.#tail()}`);
    return /\) [Tt] /.test(readFileSync(`/proc/${this.pid}/stat`, 'utf8'));
  }

  get log(): string {
    return readFileSync(this.logFile).toString('utf8', this.#logFrom);
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** As a power cut would: no goodbye. */
  async kill(): Promise<void> {
    if (this.isRunning) this.#end('SIGKILL');
    await this.ended();
  }

  /** Asks it to end. Rejects when it takes longer than promised, or does not end with code 0. */
  async stop(): Promise<number> {
    if (!this.isRunning) throw new Error(`${this.name} had ended by itself:\n${this.#tail()}`);
    const startedMs = performance.now();
    this.#end('SIGTERM');
    await this.ended(allowed(STOP_LIMIT_MS)).catch((error: Error) => {
      throw new Error(`${error.message}:\n${this.#tail()}`);
    });
    if (this.#child.exitCode !== 0) {
      throw new Error(`${this.name} ended with ${this.#howItEnded}:\n${this.#tail()}`);
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

  #end(by: 'SIGKILL' | 'SIGTERM'): void {
    this.#isAsked = true;
    this.#child.kill(by);
  }

  get #howItEnded(): number | string | null {
    return this.#child.exitCode ?? this.#child.signalCode;
  }

  #tail(): string {
    return this.log.slice(-2_000);
  }
}
