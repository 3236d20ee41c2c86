import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { propose } from './action';
import { useRefreshed } from './refreshed';
import { Failure, Figure, millis } from './words';

interface Now {
  readonly open: { readonly total: number; readonly dueIn1m: number };
  readonly closing: number;
  readonly overdueDeadlines: number;
  readonly oldestLagMs: number;
  readonly lag: { readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number };
  readonly closedBy: Readonly<Record<string, number>>;
  readonly refunds: Readonly<Record<string, number>>;
  readonly heldDeadlines: number;
  readonly heldWebhooks: number;
  readonly heldPayments: number;
  readonly races: { readonly wonInGrace: number; readonly lost: number };
  readonly relayAgeSeconds: number;
  readonly timer: {
    readonly alarms: number | null;
    readonly workersAlive: number;
    readonly workersSilent: number;
    readonly lastSweepAgoMs: number | null;
  };
  readonly brake: {
    readonly cause: string;
    readonly kind: string;
    readonly waiting: number;
  } | null;
  readonly dueByMinute: readonly number[];
}

export function NowView({ mayAct }: { mayAct: boolean }) {
  const { answer, failure, look } = useRefreshed<Now>('/console/api/now');
  const now = answer.value;
  if (!now) return <Failure text={failure.value} />;
  const { open, lag, timer, brake } = now;
  return (
    <>
      <Failure text={failure.value} />
      {brake && (
        <section class="brake" aria-label="Timeouts stand still">
          <h2>Timeouts stand still</h2>
          <p>
            {brake.cause}: {brake.waiting} deadlines of the kind {brake.kind} wait. Look at the
            database's clock and the provider before you go on.
          </p>
          {mayAct && (
            <button
              type="button"
              onClick={() =>
                propose({
                  title: 'Resume timeouts',
                  about: `What is due is handled then: ${brake.waiting} and more.`,
                  path: '/console/api/timeouts/resume',
                  onDone: look,
                })
              }
            >
              Resume
            </button>
          )}
        </section>
      )}
      <dl class="figures">
        <Figure name="Open orders">{open.total}</Figure>
        <Figure name="Due in a minute">{open.dueIn1m}</Figure>
        <Figure name="Closing">{now.closing}</Figure>
        <Figure name="Overdue">
          {now.overdueDeadlines} · {millis(now.oldestLagMs)}
        </Figure>
        <Figure name="Lag, last hour">
          p50 {millis(lag.p50Ms)} · p99 {millis(lag.p99Ms)}
        </Figure>
        <Figure name="Closed by, last hour">
          {Object.entries(now.closedBy)
            .map(([by, n]) => `${by} ${n}`)
            .join(' · ') || 'nobody'}
        </Figure>
        <Figure name="Races, last hour">
          {now.races.wonInGrace} won · {now.races.lost} lost
        </Figure>
        <Figure name="Refunds">
          {now.refunds.pending ?? 0} pending · {now.refunds.needs_attention ?? 0} need attention
        </Figure>
        <Figure name="On hold">
          {now.heldPayments} payments · {now.heldWebhooks} webhooks · {now.heldDeadlines} deadlines
        </Figure>
        <Figure name="Workers">
          {timer.workersAlive} alive · {timer.workersSilent} silent
        </Figure>
        <Figure name="Last sweep">
          {timer.lastSweepAgoMs === null ? 'never' : `${millis(timer.lastSweepAgoMs)} ago`}
        </Figure>
        <Figure name="Alarms">{timer.alarms ?? 'the timer store does not answer'}</Figure>
        <Figure name="Relay">{Math.round(now.relayAgeSeconds)} s old</Figure>
      </dl>
      <Upcoming counts={now.dueByMinute} />
    </>
  );
}

/** What closes in the next quarter of an hour unless it is paid, by minutes. */
function Upcoming({ counts }: { counts: readonly number[] }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const data: uPlot.AlignedData = [counts.map((_, minute) => minute + 0.5), [...counts]];
  useEffect(() => {
    const paths = uPlot.paths.bars?.({ size: [0.8] });
    const ink = getComputedStyle(document.body).color;
    const axis = { stroke: ink, grid: { show: false }, ticks: { stroke: ink } };
    plot.current = new uPlot(
      {
        width: Math.min(720, (box.current?.clientWidth ?? 720) || 720),
        height: 180,
        cursor: { show: false },
        legend: { show: false },
        scales: { x: { time: false, range: [0, counts.length] }, y: { range: [0, null] } },
        axes: [axis, axis],
        series: [{}, { fill: ink, stroke: ink, ...(paths ? { paths } : {}) }],
      },
      data,
      box.current as HTMLDivElement,
    );
    return () => plot.current?.destroy();
  }, []);
  useEffect(() => plot.current?.setData(data), [counts]);
  const total = counts.reduce((sum, one) => sum + one, 0);
  return (
    <figure>
      <figcaption>
        {total} orders close in the next 15 minutes unless they are paid, by minutes from now
      </figcaption>
      <div ref={box} aria-hidden="true" />
    </figure>
  );
}
