import { cpuMicrosEach, type CpuSeconds } from './cpu';
import { median } from './statistics';
import type { Servers } from './world';

export interface BenchOptions {
  readonly servers: Servers;
  /** One short iteration, for CI: shows that everything runs, and measures nothing. */
  readonly quick: boolean;
  /** Iterations; the report says their median. */
  readonly rounds: number;
  /** How many orders, where the command line says so. */
  readonly orders: number | undefined;
  /** Timer drivers that are named; undefined: all. */
  readonly drivers: readonly string[] | undefined;
  readonly say: (line: string) => void;
}

export type Cell = string | number;

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  /** What the numbers mean and what they do not, in sentences. */
  readonly note?: string | undefined;
}

/** Bars, or lines over `x`, of one table's numbers. */
export interface Chart {
  readonly name: string;
  readonly title: string;
  readonly kind: 'bars' | 'lines';
  readonly xTitle: string;
  readonly yTitle: string;
  readonly logarithmic?: boolean;
  readonly points: readonly { readonly series: string; readonly x: Cell; readonly y: number }[];
}

export interface Goal {
  readonly text: string;
  readonly met: boolean;
  readonly measured: string;
}

export interface Findings {
  readonly tables: readonly Table[];
  readonly charts?: readonly Chart[];
  readonly goals?: readonly Goal[];
}

/** One named question, answered by one file. */
export interface Question {
  readonly name: string;
  readonly asks: string;
  answer(options: BenchOptions): Promise<Findings>;
}

/** The columns every row of work done ends with: of one piece of it. */
export const CPU_COLUMNS = ['CPU us each', 'of it Node', 'Postgres', 'Redis'] as const;

export function cpuCells(cpu: CpuSeconds, count: number): string[] {
  const parts = [cpu.node, cpu.postgres, cpu.redis].map((seconds) => (1e6 * seconds) / count);
  return [cpuMicrosEach(cpu, count), ...parts].map((micros) => micros.toFixed(0));
}

/** `a` is at least, or with `most` at most, so many times `b`: both of the same run, in turns. */
export function ratioGoal(
  text: string,
  ratios: readonly number[],
  limit: { readonly least: number } | { readonly most: number },
): Goal {
  const ratio = median(ratios);
  const met = 'least' in limit ? ratio >= limit.least : ratio <= limit.most;
  const all = ratios.length > 1 ? ` (${ratios.map((one) => one.toFixed(2)).join(', ')})` : '';
  return { text, met, measured: `${ratio.toFixed(2)}x${all}` };
}

/** At most so many microseconds of Node, Postgres and Redis together. */
export function cpuGoal(text: string, micros: number, most: number): Goal {
  return {
    text: `${text}: at most ${most} us of CPU`,
    met: micros <= most,
    measured: `${micros.toFixed(0)} us`,
  };
}

/** At the most a fifth above the first row; `worst` is how many times the first row the worst one is. */
export function flatGoal(worst: number): Goal {
  return {
    text: 'flat within 20%',
    met: worst <= 1.2,
    measured: `at worst ${Math.round(100 * (worst - 1))}% more`,
  };
}
