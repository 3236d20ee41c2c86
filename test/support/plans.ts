import { Client, type Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { until } from './until';
import type { World } from './world';

/** A node of a plan, as auto_explain tells it in JSON. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Index Cond'?: string;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** What the statements of one text did beyond their work. */
export interface Waste {
  readonly statement: string;
  /** Rows that were read or joined, and thrown away. */
  readonly inVain: number;
  /** How often a whole array was searched for, inside of a loop. */
  readonly arraysInLoops: number;
}

/** Hears the plan of every statement that a world's connections run from now on. */
export class Plans {
  readonly #heard: { readonly text: string; readonly root: PlanNode }[] = [];

  static async of(world: World): Promise<Plans> {
    const plans = new Plans();
    const owner = new Client({ connectionString: world.ownerUrl });
    await owner.connect();
    const settings = {
      session_preload_libraries: 'auto_explain',
      'auto_explain.log_min_duration': '0',
      'auto_explain.log_nested_statements': 'on',
      'auto_explain.log_analyze': 'on',
      'auto_explain.log_timing': 'off',
      'auto_explain.log_format': 'json',
      'auto_explain.log_level': 'notice',
    };
    const name = new URL(world.ownerUrl).pathname.slice(1);
    for (const [setting, value] of Object.entries(settings)) {
      await owner.query(`ALTER DATABASE ${name} SET ${setting} = '${value}'`);
    }
    const pools = [world.dataSource, world.drainDataSource].map(poolOf);
    for (const pool of pools) plans.#listenTo(pool);
    // Those that are open know nothing of it.
    await until('no connection is from before', async () => {
      await owner.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND usename <> current_user`,
      );
      return pools.every(({ totalCount }) => totalCount === 0);
    });
    await owner.end();
    return plans;
  }

  /** What was heard so far does not count. */
  forget(): void {
    this.#heard.length = 0;
  }

  /** What was heard since the last call, the worst first; throws when that is nothing. */
  waste(): Waste[] {
    const heard = this.#heard.splice(0);
    if (heard.length === 0) throw new Error('No plan was heard');
    const byText = new Map<string, { inVain: number; arraysInLoops: number }>();
    for (const { text, root } of heard) {
      const sum = byText.get(text) ?? { inVain: 0, arraysInLoops: 0 };
      for (const node of nodesOf(root)) {
        const loops = node['Actual Loops'];
        sum.inVain +=
          loops *
          ((node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0));
        if (loops > 1 && node['Index Cond']?.includes('= ANY')) sum.arraysInLoops += loops;
      }
      byText.set(text, sum);
    }
    return [...byText]
      .map(([statement, sum]) => ({ statement, ...sum }))
      .sort((a, b) => b.inVain + b.arraysInLoops - a.inVain - a.arraysInLoops);
  }

  #listenTo(pool: Pool): void {
    pool.on('connect', (client) => {
      client.on('notice', ({ message = '' }) => {
        const [, plan] = /plan:\s*(\{[^]*)$/.exec(message) ?? [];
        if (plan === undefined) return;
        const told = JSON.parse(plan) as { 'Query Text': string; Plan: PlanNode };
        const text = told['Query Text'].replace(/\s+/g, ' ').trim();
        this.#heard.push({ text, root: told.Plan });
      });
    });
  }
}

/** TypeORM's own. */
const poolOf = ({ driver }: DataSource): Pool => (driver as unknown as { master: Pool }).master;

function* nodesOf(node: PlanNode): Generator<PlanNode> {
  yield node;
  for (const child of node.Plans ?? []) yield* nodesOf(child);
}
