import { Client, type Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { until } from './until';
import type { World } from './world';

/** A node of a plan, as auto_explain tells it in JSON. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Index Cond'?: string;
  readonly 'Actual Loops': number;
  readonly 'Actual Rows': number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** What the statements of one text did beyond their work. */
export interface Waste extends Counts {
  readonly statement: string;
}

interface Counts {
  /** Rows that were read, joined or sorted, and thrown away. */
  readonly inVain: number;
  /** How often a whole array was searched for, inside of a loop. */
  readonly arraysInLoops: number;
  /** Blocks of indexes and tables that were read to find nothing. */
  readonly blocksInVain: number;
}

/** Whose statements are listened to. */
export interface Planners {
  /** Of a user who may say how the database's sessions begin. */
  readonly ownerUrl: string;
  readonly dataSources: readonly DataSource[];
  /** Their sessions, in pg_stat_activity. */
  readonly sessions: string;
}

type PlanCacheMode = 'auto' | 'force_generic_plan';

/** What an index takes to find a row: a path of four from its root, the row, and versions of it. */
const BLOCKS_A_ROW = 8;

/** Hears the plan of every statement that a world's connections run from now on. */
export class Plans {
  readonly #heard: { readonly text: string; readonly root: PlanNode }[] = [];

  static of(world: World, planCacheMode?: PlanCacheMode): Promise<Plans> {
    const { ownerUrl, dataSource, drainDataSource } = world;
    const dataSources = [dataSource, drainDataSource];
    const sessions = 'usename <> current_user';
    return Plans.ofAll({ ownerUrl, dataSources, sessions }, planCacheMode);
  }

  /** With `force_generic_plan`, what a connection prepares is planned once, and before the tables grow. */
  static async ofAll(
    { ownerUrl, dataSources, sessions }: Planners,
    planCacheMode: PlanCacheMode = 'auto',
  ): Promise<Plans> {
    const plans = new Plans();
    const owner = new Client({ connectionString: ownerUrl });
    await owner.connect();
    const settings = {
      session_preload_libraries: 'auto_explain',
      'auto_explain.log_min_duration': '0',
      'auto_explain.log_nested_statements': 'on',
      'auto_explain.log_analyze': 'on',
      'auto_explain.log_buffers': 'on',
      'auto_explain.log_timing': 'off',
      'auto_explain.log_format': 'json',
      'auto_explain.log_level': 'notice',
      plan_cache_mode: planCacheMode,
    };
    const name = new URL(ownerUrl).pathname.slice(1);
    for (const [setting, value] of Object.entries(settings)) {
      await owner.query(`ALTER DATABASE ${name} SET ${setting} = '${value}'`);
    }
    const pools = dataSources.map(poolOf);
    for (const pool of pools) plans.#listenTo(pool);
    // Those that are open know nothing of it.
    await until('no connection is from before', async () => {
      await owner.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND ${sessions}`,
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
    const byText = new Map<string, Counts>();
    for (const { text, root } of heard) {
      byText.set(text, [...nodesOf(root)].map(wasteOf).reduce(add, byText.get(text) ?? NONE));
    }
    const size = (waste: Waste): number => waste.inVain + waste.arraysInLoops + waste.blocksInVain;
    return [...byText]
      .map(([statement, sum]) => ({ statement, ...sum }))
      .sort((a, b) => size(b) - size(a));
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

const READS_A_TABLE = /^(Seq|Index|Index Only|Bitmap Heap) Scan$/;

const NONE: Counts = { inVain: 0, arraysInLoops: 0, blocksInVain: 0 };

function wasteOf(node: PlanNode): Counts {
  const loops = node['Actual Loops'];
  const thrownAway =
    (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0);
  // What was sorted for those that stand first, and was not among them.
  const sorted = node['Node Type'] === 'Sort' ? node.Plans?.[0]?.['Actual Rows'] : undefined;
  const unsorted = sorted === undefined ? 0 : sorted - node['Actual Rows'];
  // What was hashed or merged, and met nobody.
  const unmatched = /^(Hash|Merge) Join$/.test(node['Node Type'])
    ? (node.Plans ?? []).reduce(
        (sum, child) =>
          sum +
          Math.max(0, child['Actual Loops'] * child['Actual Rows'] - loops * node['Actual Rows']),
        0,
      )
    : 0;
  const blocks = node['Shared Hit Blocks'] + node['Shared Read Blocks'];
  const wanted = BLOCKS_A_ROW * loops * (1 + node['Actual Rows']);
  return {
    inVain: loops * (thrownAway + unsorted) + unmatched,
    arraysInLoops: loops > 1 && node['Index Cond']?.includes('= ANY') ? loops : 0,
    blocksInVain: READS_A_TABLE.test(node['Node Type']) ? Math.max(0, blocks - wanted) : 0,
  };
}

const add = (a: Counts, b: Counts): Counts => ({
  inVain: a.inVain + b.inVain,
  arraysInLoops: a.arraysInLoops + b.arraysInLoops,
  blocksInVain: a.blocksInVain + b.blocksInVain,
});

/** TypeORM's own. */
const poolOf = ({ driver }: DataSource): Pool => (driver as unknown as { master: Pool }).master;

function* nodesOf(node: PlanNode): Generator<PlanNode> {
  yield node;
  for (const child of node.Plans ?? []) yield* nodesOf(child);
}
