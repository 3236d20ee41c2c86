import { Test, type TestingModule } from '@nestjs/testing';
import { Client, Pool } from 'pg';
import { CloseTargetModule, CloseTargets } from '../../libs/orders/src/targets';
import {
  getTimeoutsToken,
  TimeoutModule,
  type TimeoutModuleOptions,
  type Timeouts,
} from '../../libs/timeout/src/public';
import { createTestDatabase } from './database';
import { LedgerProvider, type Posted } from './ledger-provider';
import { NUMBERED_TABLES, NumberedOrders, placeNumbered } from './numbered-shop';

export const AMOUNT = { amount: 1_999, currency: 'EUR' };

/** A shop with an orders table of its own in this process, with as little telemetry as may be, and its provider. */
export interface NumberedShop {
  readonly acme: LedgerProvider;
  readonly alerts: [what: string, fields: Readonly<Record<string, unknown>>][];
  /** What was told to have failed, and why. */
  readonly failures: string[];
  readonly module: TestingModule;
  readonly client: Client;
  readonly databaseUrl: string;
  readonly timeouts: Timeouts;
  readonly targets: CloseTargets;
  /** An order, with these payments open at the provider; answers with its id. */
  place(closesInMs: number, references?: readonly string[]): Promise<string>;
  receive(posted: Posted | undefined): Promise<void>;
  /** The first row, if there is any. */
  first(sql: string, params?: readonly unknown[]): Promise<Record<string, string> | undefined>;
  close(): Promise<void>;
}

export interface NumberedShopOptions {
  /** Targets beside its orders. */
  readonly others?: readonly (typeof NumberedOrders)[];
  /** Of its database; the server's unless given. */
  readonly encoding?: string;
  /** Options of the deadlines beside their place; the memory driver unless given. */
  readonly timeouts?: Pick<TimeoutModuleOptions, 'driver' | 'redis' | 'telemetry'>;
  readonly latePayment?: 'refund' | 'hold';
  /** Where the module connects to, by the address of the database. */
  readonly connectsBy?: (databaseUrl: string) => Promise<string>;
}

export async function openNumberedShop({
  others = [],
  encoding,
  timeouts: options = { driver: 'memory' },
  latePayment,
  connectsBy = async (databaseUrl) => databaseUrl,
}: NumberedShopOptions = {}): Promise<NumberedShop> {
  const acme = new LedgerProvider('acme');
  const alerts: NumberedShop['alerts'] = [];
  const failures: string[] = [];
  const database = await createTestDatabase(encoding === undefined ? {} : { encoding });
  const session = { options: '-c search_path=public' };
  const pool = new Pool({ connectionString: await connectsBy(database.url), ...session });
  const client = new Client({ connectionString: database.url, ...session });
  await client.connect();
  await client.query(NUMBERED_TABLES);
  const module = await Test.createTestingModule({
    imports: [
      TimeoutModule.forRoot({ postgres: { pool }, sweepIntervalMs: 1_000, ...options }),
      CloseTargetModule.forRoot({
        targets: [NumberedOrders, ...others],
        payments: [acme],
        latePayment,
        telemetry: {
          failed: (what, error) => void failures.push(`${what}: ${String(error)}`),
          alert: (what, fields) => {
            alerts.push([what, fields]);
            throw new Error('statsd is away');
          },
        },
      }),
    ],
  }).compile();
  module.useLogger(false);
  await module.init();
  const timeouts = module.get<Timeouts>(getTimeoutsToken());
  const targets = module.get(CloseTargets);
  return {
    ...{ acme, alerts, failures, module, client, timeouts, targets, databaseUrl: database.url },
    place: async (closesInMs, references = []) => {
      const id = await placeNumbered(client, timeouts, { closesInMs, references });
      for (const paymentId of references) acme.open({ paymentId, ...AMOUNT });
      return id;
    },
    receive: (posted) => {
      if (!posted) throw new Error('The provider has refused that');
      return targets.receive('acme', posted.body, posted.headers);
    },
    first: async (sql, params = []) =>
      (await client.query<Record<string, string>>(sql, [...params])).rows[0],
    close: async () => {
      await client.end();
      await module.close();
      await pool.end();
      await database.drop();
    },
  };
}
