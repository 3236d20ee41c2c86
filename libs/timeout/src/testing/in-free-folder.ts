import { join } from 'node:path';
import type { DriverWish } from '../drivers/driver-bench';
import { WheelDriver } from '../drivers/wheel/wheel.driver';

/**
 * A wheel as a process of its own would have it. Processes that run at the same time have folders
 * of their own; one that comes later takes over.
 */
export class InFreeFolder extends WheelDriver {
  static readonly #used = new Set<string>();
  readonly #folder: string;

  constructor(root: string, { namespace, ...options }: DriverWish) {
    const numbered = (n: number): string => join(root, `${namespace}-${n}`);
    let n = 0;
    while (InFreeFolder.#used.has(numbered(n))) n += 1;
    const folder = numbered(n);
    super({ ...options, folder });
    this.#folder = folder;
    InFreeFolder.#used.add(folder);
  }

  override async stop(): Promise<void> {
    await super.stop();
    InFreeFolder.#used.delete(this.#folder);
  }
}
