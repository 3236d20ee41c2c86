import { Flags } from '@oclif/core';
import type { StatisticsView } from '@app/orders';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT } from '../exit-code';
import type { Installation } from '../installation';
import { interruption } from '../interruption';
import { OpsCommand } from '../ops-command';
import { paint } from '../text/paint';
import { printableJson, printableLines } from '../text/printable';
import { statisticsText } from '../text/statistics-text';

/** Written over the reading before, line by line: a screen that is cleared first would flicker. */
const HOME = '\u001b[H';
const REST_OF_LINE = '\u001b[K';
const REST_OF_SCREEN = '\u001b[J';

export default class Stats extends OpsCommand {
  static override purpose = 'look' as const;
  static override summary = 'Figures: open, due soon, overdue, lag, who closes, refunds, timer';
  static override description =
    'With --watch a live view until Ctrl-C; elsewhere than on a terminal one reading after the other, ' +
    'and with --json each of them as one line of JSON.';
  static override examples = [
    '<%= config.bin %> stats --json',
    '<%= config.bin %> stats --watch --interval 5',
  ];
  static override flags = {
    watch: Flags.boolean({ char: 'w', description: 'again and again' }),
    interval: Flags.integer({
      description: 'seconds between readings',
      default: 2,
      min: 1,
      max: 3_600,
    }),
    count: Flags.integer({
      description: 'end after so many readings',
      min: 1,
      dependsOn: ['watch'],
    }),
  };

  async run(): Promise<StatisticsView | undefined> {
    const { flags } = await this.parse(Stats);
    const installation = await this.installation();
    if (flags.watch) return this.#watch(installation, flags);
    const view = await installation.statistics.read();
    this.log(statisticsText(view));
    return view;
  }

  async #watch(
    { statistics }: Installation,
    { interval, count = Infinity }: { interval: number; count?: number | undefined },
  ): Promise<undefined> {
    const interrupted = interruption(() => undefined);
    const unread = new AbortController();
    process.stdout.once('error', () => unread.abort());
    const signal = AbortSignal.any([interrupted, unread.signal]);
    for (let n = 1; n <= count && !signal.aborted; n++) {
      const view = await statistics.read();
      if (this.jsonEnabled()) process.stdout.write(`${printableJson(view)}\n`);
      else if (process.stdout.isTTY) process.stdout.write(screen(view, interval));
      else process.stdout.write(`${printableLines(statisticsText(view))}\n\n`);
      if (n < count) await sleep(interval * 1_000, undefined, { signal }).catch(() => undefined);
    }
    if (interrupted.aborted) this.endWith(EXIT.interrupted);
  }
}

function screen(view: StatisticsView, intervalS: number): string {
  const text = `${printableLines(statisticsText(view))}\n${paint.faint(`every ${intervalS} s; Ctrl-C ends`)}\n`;
  return HOME + text.replaceAll('\n', `${REST_OF_LINE}\n`) + REST_OF_SCREEN;
}
