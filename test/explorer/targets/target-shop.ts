import { Test } from '@nestjs/testing';
import { Client, Pool } from 'pg';
import {
  CloseTargetModule,
  CloseTargets,
  migrateCloseTargets,
} from '../../../libs/orders/src/targets';
import { PaymentProviders } from '../../../libs/orders/src/providers/payment-providers';
import { TARGET_PARTS, type TargetParts } from '../../../libs/orders/src/targets/target-parts';
import { runtimeToken } from '../../../libs/timeout/src/host/timeout.module';
import type { TimeoutRuntime } from '../../../libs/timeout/src/host/timeout-runtime';
import { TimeoutModule } from '../../../libs/timeout/src/public';
import type { LedgerProvider } from '../../support/ledger-provider';
import { NUMBERED_TABLES, NumberedOrders } from '../../support/numbered-shop';
import { silentDriver } from '../../support/world';
import { SCHEMA } from '../stage';

/** Longer than a program stands still between two statements; the most that a host may say. */
const STANDSTILL_LIMIT_MS = 20_000;

/** Of an order that the shop's own code has moved on. */
export const MOVED_ON = 50;
/** Until when a payment can be paid. */
export const PAYABLE_FOR_MS = 120_000;
export const AMOUNT = 1_999;

/** What a shop of its own tables, and its close targets, have in a database. */
export const TARGET_TABLES = {
  make: async (url: string): Promise<void> => {
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(NUMBERED_TABLES);
    await client.end();
    await migrateCloseTargets({ postgres: { url }, schema: SCHEMA });
  },
  names: [
    ...['target_orders', 'target_payments', 'target_refunds', 'target_webhooks', 'target_actions'],
    ...['timeout_subjects', 'deadlines', 'held_deadlines', 'timeout_brakes', 'machine_clocks'],
    ...['sweep_shards', 'public.orders', 'public.payments'],
  ],
};

/** A process of such a shop: the modules with connections of their own, which ring and sweep when they are told to. */
export interface TargetShop {
  readonly targets: CloseTargets;
  readonly runtime: TimeoutRuntime;
  readonly parts: TargetParts;
  /** The shop's own connections; what they do are steps as well. */
  readonly pool: Pool;
  /** What was reported, as `name` and arguments. */
  readonly told: { readonly name: string; readonly args: readonly unknown[] }[];
}

const REPORTS = ['failed', 'batchFailed', 'deadlineHeld', 'handlerFails', 'alert'];

export async function openTargetShop(
  url: string,
  providers: readonly [LedgerProvider, LedgerProvider],
): Promise<TargetShop> {
  const told: { name: string; args: readonly unknown[] }[] = [];
  const telemetry = Object.fromEntries(
    REPORTS.map((name) => [name, (...args: unknown[]) => void told.push({ name, args })]),
  ) as Record<'failed' | 'alert', () => void>;
  const module = await Test.createTestingModule({
    imports: [
      TimeoutModule.forRoot({
        ...{ postgres: { url }, schema: SCHEMA, migrate: false, driver: silentDriver, telemetry },
        ...{ drainers: 2, standstillLimitMs: STANDSTILL_LIMIT_MS },
      }),
      CloseTargetModule.forRoot({ targets: [NumberedOrders], payments: providers, telemetry }),
    ],
  }).compile();
  // Not bootstrapped: nothing sweeps by itself.
  const runtime = module.get<TimeoutRuntime>(runtimeToken('default'));
  await runtime.onModuleInit();
  await runtime.service.start();
  const parts = module.get<TargetParts>(TARGET_PARTS);
  // Without breakers, whose limits go by the machine's time.
  Object.assign(parts, { providers: new PaymentProviders(providers) });
  const own = new URL(url);
  own.searchParams.set('application_name', 'lastcall shop');
  const pool = new Pool({ connectionString: own.href });
  // Of a process that has crashed, idle or in its hands.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return { targets: module.get(CloseTargets), runtime, parts, pool, told };
}
