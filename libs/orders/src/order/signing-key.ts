import { createHmac } from 'node:crypto';
import { queryRows } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';

/** Signs what this installation hands out for a short time; the key never leaves the database's side. */
@Injectable()
export class SigningKey {
  /** Read once: it stays with the database. */
  #key: Promise<Buffer> | undefined;

  constructor(@Inject(DATABASE) private readonly dataSource: DataSource) {}

  /** `purpose` first, so that what is signed for one thing is good for no other. */
  async sign(purpose: string, ...facts: readonly string[]): Promise<Buffer> {
    const hmac = createHmac('sha256', await this.#read());
    return hmac.update(JSON.stringify([purpose, ...facts])).digest();
  }

  #read(): Promise<Buffer> {
    this.#key ??= this.#fetch().catch((error: unknown) => {
      // A database that was away is asked again by the next one.
      this.#key = undefined;
      throw error;
    });
    return this.#key;
  }

  async #fetch(): Promise<Buffer> {
    const sql = 'SELECT signing_key FROM installation';
    const [row] = await queryRows<{ signing_key: Buffer }>(this.dataSource, sql);
    if (!row) throw new Error('The table installation has lost its row; restore it from a backup');
    return row.signing_key;
  }
}
