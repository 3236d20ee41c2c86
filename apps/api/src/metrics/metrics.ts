import { Counter, Gauge, type Registry } from 'prom-client';
import { CountedHistogram } from './counted-histogram';

/** Makes the metrics of one registry, under names that all begin alike. */
export class Metrics {
  constructor(private readonly registry: Registry) {}

  counter<L extends string>(name: string, help: string, labels: readonly L[]): Counter<L> {
    return new Counter(this.#described(name, help, labels));
  }

  gauge<L extends string = never>(name: string, help: string, labels: readonly L[] = []): Gauge<L> {
    return new Gauge(this.#described(name, help, labels));
  }

  /** `buckets` are their upper bounds. */
  histogram<L extends string>(
    name: string,
    help: string,
    labels: readonly L[],
    buckets: readonly number[],
  ): CountedHistogram<L> {
    return new CountedHistogram({
      ...this.#described(name, help, labels),
      buckets: [...buckets],
    });
  }

  #described<L extends string>(name: string, help: string, labels: readonly L[]) {
    return {
      name: `lastcall_${name}`,
      help,
      labelNames: [...labels],
      registers: [this.registry],
    };
  }
}
