/** What a drain did: `found = changed + lost + putBack`; `failed` were put aside with backoff. */
export interface DrainCounts {
  found: number;
  changed: number;
  lost: number;
  putBack: number;
  failed: number;
}

export function noCounts(): DrainCounts {
  return { found: 0, changed: 0, lost: 0, putBack: 0, failed: 0 };
}

export function addCounts(total: DrainCounts, more: Readonly<DrainCounts>): void {
  total.found += more.found;
  total.changed += more.changed;
  total.lost += more.lost;
  total.putBack += more.putBack;
  total.failed += more.failed;
}
