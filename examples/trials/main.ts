import 'reflect-metadata';
import { DeadlineHandler, type Due, fromPg, InjectTimeouts } from '@lastcall/timeout';
import { TimeoutModule, Timeouts, type Tx } from '@lastcall/timeout';
import { Controller, Get, Module, Param, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Pool } from 'pg';

const TRIAL_MS = Number(process.env.TRIAL_MS ?? 14 * 86_400_000);
const pool = new Pool({ connectionString: process.env.DATABASE_URL });
// Else a connection that ends while it is idle, as all do when Postgres restarts, ends the process.
pool.on('error', ({ message }) => console.error(message));

/** Called once a trial's time has come, in the transaction that took its deadline. */
@DeadlineHandler('trial-end')
class EndTrials {
  async handle(due: readonly Due[], tx: Tx) {
    const ids = due.map(({ subjectId }) => subjectId);
    const sql = `UPDATE trials SET ended_at = now() WHERE account = ANY ($1) AND NOT subscribed RETURNING 1`;
    return { changed: (await tx.query(sql, [ids])).length };
  }
}

@Controller('trials/:account')
class TrialsController {
  constructor(@InjectTimeouts() private readonly timeouts: Timeouts) {}

  /** The trial and its end commit together, or neither does. */
  @Post()
  async begin(@Param('account') account: string) {
    const [client, dueAt] = [await pool.connect(), new Date(Date.now() + TRIAL_MS)];
    try {
      await client.query('BEGIN');
      await client.query('INSERT INTO trials (account) VALUES ($1)', [account]);
      await this.timeouts.arm(fromPg(client), { kind: 'trial-end', subjectId: account, dueAt });
      await client.query('COMMIT');
      return { account, endsAt: dueAt };
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    } finally {
      client.release();
    }
  }

  @Get()
  async show(@Param('account') account: string): Promise<unknown> {
    return (await pool.query('SELECT * FROM trials WHERE account = $1', [account])).rows[0];
  }
}

@Module({
  imports: [TimeoutModule.forRoot({ postgres: { pool } })],
  providers: [EndTrials],
  controllers: [TrialsController],
})
class App {}

async function main(): Promise<void> {
  await pool.query(
    'CREATE TABLE IF NOT EXISTS trials (account text PRIMARY KEY, subscribed boolean DEFAULT false, ended_at timestamptz)',
  );
  const app = await NestFactory.create(App);
  app.enableShutdownHooks();
  await app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1');
  console.log(`trials on ${await app.getUrl()}`);
}

void main();
