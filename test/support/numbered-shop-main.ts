/*
 * A shop with an orders table of its own, in a process of its own: closes its orders by lastcall, takes
 * webhooks by HTTP, and asks the provider of the test that has started it. It kills itself (SIGKILL, as
 * a crash would) when it comes to the failpoint that its parent has named by a message.
 */
import 'reflect-metadata';
import { onFailpoint } from '@app/timeout';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Pool } from 'pg';
import { CloseTargetModule, CloseTargets } from '../../libs/orders/src/targets';
import { TimeoutModule } from '../../libs/timeout/src/public';
import { LedgerProvider } from './ledger-provider';
import { NumberedOrders } from './numbered-shop';

/** The provider of the parent: its ledger outlives this process. */
class FarLedger extends LedgerProvider {
  override findPayment = (...args: unknown[]) => ask('findPayment', args);
  override closePayment = (...args: unknown[]) => ask('closePayment', args);
  override refund = (...args: unknown[]) => ask('refund', args);
  override findRefund = (...args: unknown[]) => ask('findRefund', args);
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- whatever the ledger answers to that call
async function ask(call: string, args: unknown[]): Promise<any> {
  const body = JSON.stringify({ call, args });
  const answer = await fetch(process.env.LEDGER_URL ?? '', { method: 'POST', body });
  return JSON.parse(await answer.text(), (name, value: unknown) =>
    name === 'paidAt' ? new Date(value as string) : value,
  );
}

const pool = new Pool({
  connectionString: process.env.DATABASE_URL,
  options: '-c search_path=public',
});

@Module({
  imports: [
    TimeoutModule.forRoot({ postgres: { pool }, sweepIntervalMs: 1_000 }),
    CloseTargetModule.forRoot({
      targets: [NumberedOrders],
      payments: [new FarLedger('acme')],
    }),
  ],
})
class Shop {}

let wanted = '';
process.on('message', (name) => {
  wanted = String(name);
  process.send?.('armed');
});

async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(Shop, { logger: ['error'] });
  const targets = app.get(CloseTargets);
  const server = createServer((request, response) => {
    void buffer(request)
      .then((body) => targets.receive('acme', body, request.headers))
      .then(
        () => response.writeHead(200).end(),
        () => response.writeHead(503).end(),
      );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onFailpoint((name) => {
    if (name !== wanted) return;
    process.kill(process.pid, 'SIGKILL');
    // The signal may take a moment to arrive: nothing more happens until it does.
    return new Promise<void>(() => undefined);
  });
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

void main();
