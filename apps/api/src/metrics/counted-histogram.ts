import { Histogram, type LabelValues } from 'prom-client';

/** What prom-client (15) keeps of one set of labels; upper bounds are the buckets' keys. */
interface Series {
  readonly labels: Readonly<Record<string, unknown>>;
  readonly bucketValues: Record<number, number>;
  sum: number;
  count: number;
}

/**
 * A histogram that is told of many equal values at once: a herd of orders is closed as late as each other,
 * and prom-client has no way but to observe one after the other.
 */
export class CountedHistogram<Label extends string> extends Histogram<Label> {
  /** The same as to observe `value` so many times. */
  observeMany(labels: LabelValues<Label>, value: number, count: number): void {
    if (count < 1) return;
    // Which makes the series, and refuses what is no number.
    this.observe(labels, value);
    const series = this.#seriesOf(labels);
    series.count += count - 1;
    series.sum += value * (count - 1);
    const bound = this.#kept.upperBounds.find((upper) => value <= upper);
    if (bound !== undefined) series.bucketValues[bound]! += count - 1;
  }

  /** Which its types do not tell of: the test has it compared with what prom-client itself says. */
  get #kept(): { readonly hashMap: Record<string, Series>; readonly upperBounds: number[] } {
    return this as never;
  }

  #seriesOf(labels: LabelValues<Label>): Series {
    const names = Object.keys(labels) as Label[];
    const isOf = (series: Series): boolean =>
      Object.keys(series.labels).length === names.length &&
      names.every((name) => series.labels[name] === labels[name]);
    return Object.values(this.#kept.hashMap).find(isOf) as Series;
  }
}
