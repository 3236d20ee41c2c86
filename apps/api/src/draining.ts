import { Injectable } from '@nestjs/common';

/** Whether this process is on its way out: readiness says so, and long answers come to an end. */
@Injectable()
export class Draining {
  readonly #controller = new AbortController();

  get isDraining(): boolean {
    return this.#controller.signal.aborted;
  }

  /** Aborted when draining begins. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  begin(): void {
    this.#controller.abort();
  }
}
