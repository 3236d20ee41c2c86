import type { ClosePlan, CloseResult } from '@app/orders';
import { EXIT, type ExitCode } from '../exit-code';
import { paint } from './paint';
import { table } from './table';
import { countText } from './wording';

export interface ForceCloseOutcome {
  readonly dryRun: boolean;
  /** How many orders the command was about, and what became of them. */
  readonly asked: number;
  readonly closed: number;
  readonly closing: number;
  readonly skipped: number;
  readonly failed: number;
  /** Orders that were not begun: the command was interrupted, or the database is gone. */
  readonly notReached: number;
  readonly orders: readonly CloseResult[];
}

/** Rows shown to a person; `--json` has them all. */
const SHOWN = 50;

export function planText(plan: readonly ClosePlan[]): string {
  const of = (action: ClosePlan['action']): number =>
    plan.filter((one) => one.action === action).length;
  const skipped = plan.filter(({ action }) => action === 'skip');
  const lines = [
    `Plan: close ${of('close')} now, ask the provider about ${of('ask_provider')} first, skip ${skipped.length}`,
    ...skipped
      .slice(0, SHOWN)
      .map(
        ({ orderId, status }) => `  skip ${orderId}: ${status ? `it is ${status}` : 'not found'}`,
      ),
  ];
  if (skipped.length > SHOWN) lines.push(`  ... and ${skipped.length - SHOWN} more`);
  return lines.join('\n');
}

/** Exit code: why nothing was done, or partly failed when some was. */
export function summarize(
  orders: readonly CloseResult[],
  { dryRun, asked, isInterrupted }: { dryRun: boolean; asked: number; isInterrupted: boolean },
): { outcome: ForceCloseOutcome; exitCode: ExitCode } {
  const count = (wanted: CloseResult['outcome']): number =>
    orders.filter(({ outcome }) => outcome === wanted).length;
  const outcome = {
    dryRun,
    asked,
    closed: count('closed'),
    closing: count('closing'),
    skipped: count('skipped'),
    failed: count('failed'),
    notReached: asked - orders.length,
    orders,
  };
  const isCutShort = isInterrupted && outcome.notReached > 0;
  return { outcome, exitCode: isCutShort ? EXIT.interrupted : exitCodeOf(outcome) };
}

function exitCodeOf({ orders, closed, closing, ...counts }: ForceCloseOutcome): ExitCode {
  if (counts.skipped + counts.failed + counts.notReached === 0) return EXIT.done;
  if (closed + closing > 0) return EXIT.partlyFailed;
  // Without a worker of the host nobody calls its hooks.
  if (orders.some(({ why }) => why === 'unavailable' || why === 'hooks_elsewhere')) {
    return EXIT.dependencyDown;
  }
  if (orders.some(({ why }) => why === 'internal_error')) return EXIT.unexpected;
  return orders.every(({ why }) => why === 'order_not_found') ? EXIT.notFound : EXIT.refused;
}

export function resultText(outcome: ForceCloseOutcome): string {
  const { dryRun, asked, closed, closing, skipped, failed, notReached, orders } = outcome;
  if (asked === 0) return 'No unpaid order matches: nothing to close';
  const verb = dryRun ? 'would be closed' : 'closed';
  const parts = [
    `${countText(closed, 'order')} ${verb}`,
    closing > 0 ? `${closing} ${dryRun ? 'would wait' : 'wait'} for the provider` : '',
    skipped > 0 ? `${skipped} skipped` : '',
    failed > 0 ? `${failed} failed` : '',
    notReached > 0 ? `${notReached} not reached` : '',
  ].filter(Boolean);
  const summary = `${parts.join(', ')}${dryRun ? ' (dry run: nothing was changed)' : ''}`;
  const shown = [...orders].sort((a, b) => rank(a) - rank(b)).slice(0, SHOWN);
  const rows = table(shown, [
    { title: 'ORDER', value: ({ orderId }) => orderId },
    { title: 'OUTCOME', value: (one) => paintOutcome(one, dryRun) },
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'WHY', value: ({ message }) => message },
  ]);
  const rest =
    orders.length > SHOWN ? `\n... and ${orders.length - SHOWN} more (--json has all)` : '';
  return `${rows}${rest}\n\n${summary}`;
}

/** What to do next; undefined where all is done. What is there has something to show, what is not would only say so again. */
export function nextStep({ orders, failed, notReached }: ForceCloseOutcome): string | undefined {
  if (failed + notReached > 0) {
    return 'run it again, and what is closed by then is skipped; or: lastcall doctor';
  }
  const isThere = ({ why }: CloseResult): boolean => why !== null && why !== 'order_not_found';
  const unlike = orders.find(isThere) ?? orders.find(({ why }) => why !== null);
  if (unlike === undefined) return undefined;
  if (unlike.why === 'order_not_found') return 'lastcall orders list';
  return `lastcall orders show ${unlike.orderId}`;
}

/** What went wrong stands on top. */
function rank({ outcome }: CloseResult): number {
  return ['failed', 'skipped', 'closing', 'closed'].indexOf(outcome);
}

function paintOutcome({ outcome }: CloseResult, dryRun: boolean): string {
  if (outcome === 'failed') return paint.bad(outcome);
  if (outcome === 'skipped') return paint.notable(outcome);
  return paint.good(dryRun ? `would be ${outcome}` : outcome);
}
