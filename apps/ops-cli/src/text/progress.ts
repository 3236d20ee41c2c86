import { SingleBar } from 'cli-progress';
import { durationText } from './wording';

export interface Progress {
  /** `detail` stands beside the figures: a cursor, a count. */
  update(done: number, total: number, detail?: string): void;
  stop(): void;
}

const LINE_EVERY_MS = 2_000;

/** A bar with rate and ETA on a terminal, a line now and then elsewhere; always on stderr. */
export function progress(what: string): Progress {
  return process.stderr.isTTY ? bar(what) : lines(what);
}

function bar(what: string): Progress {
  const format = `${what} {bar} {percentage}% | {value}/{total} | {rate}/s | ETA {eta_formatted}`;
  const drawn = new SingleBar({
    format,
    stream: process.stderr,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 24,
    hideCursor: true,
    etaBuffer: 50,
  });
  const startedMs = performance.now();
  let isStarted = false;
  return {
    update(done, total) {
      const rate = rateOf(done, startedMs);
      if (isStarted) drawn.setTotal(total);
      else drawn.start(total, done, { rate });
      isStarted = true;
      drawn.update(done, { rate });
    },
    stop: () => drawn.stop(),
  };
}

function lines(what: string): Progress {
  const startedMs = performance.now();
  let saidMs = startedMs;
  let saidDone = 0;
  return {
    update(done, total, detail) {
      const nowMs = performance.now();
      const isDone = done >= total;
      if (done === saidDone || (!isDone && nowMs - saidMs < LINE_EVERY_MS)) return;
      saidMs = nowMs;
      saidDone = done;
      const rate = rateOf(done, startedMs);
      const left = rate > 0 ? durationText((Math.max(0, total - done) / rate) * 1_000) : '?';
      const suffix = detail ? ` ${detail}` : '';
      process.stderr.write(`${what} ${done}/${total}, ${rate}/s, ${left} left${suffix}\n`);
    },
    stop: () => undefined,
  };
}

function rateOf(done: number, startedMs: number): number {
  return Math.round((done / Math.max(1, performance.now() - startedMs)) * 1_000);
}
