import { propose } from './action';
import { Bars } from './bars';
import { useRefreshed } from './refreshed';
import { counted, Failure, Figure, millis } from './words';

interface Now {
  readonly open: {
    readonly total: number;
    readonly isMore: boolean;
    readonly dueIn1m: number;
    readonly dueByMinute: readonly number[];
  };
  readonly closing: number;
  readonly overdueDeadlines: number;
  readonly oldestLagMs: number;
  readonly closes: {
    readonly hour: readonly Cause[];
    readonly day: readonly Cause[];
    readonly byMinute: readonly number[];
  };
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
    readonly id: string;
    readonly cause: string;
    readonly kind: string;
    readonly waiting: number;
  } | null;
}

interface Cause {
  readonly by: string;
  readonly closes: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

export function NowView({ mayResume }: { mayResume: boolean }) {
  const { answer, failure, look } = useRefreshed<Now>('/console/api/now');
  const now = answer.value;
  if (!now) return <Failure text={failure.value} />;
  const { open, closes, timer, brake } = now;
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
          {mayResume ? (
            <button
              type="button"
              onClick={() =>
                propose({
                  title: 'Resume timeouts',
                  about: `What is due is handled then: ${brake.waiting} and more.`,
                  action: 'resume_timeouts',
                  path: '/console/api/timeouts/resume',
                  ids: [brake.id],
                  onDone: look,
                })
              }
            >
              Resume
            </button>
          ) : (
            <p>Who has the scope ops:admin can resume them.</p>
          )}
        </section>
      )}
      <dl class="figures">
        <Figure name="Open orders">
          {open.isMore ? 'more than ' : ''}
          {open.total}
        </Figure>
        <Figure name="Due in a minute">{open.dueIn1m}</Figure>
        <Figure name="Closing">{now.closing}</Figure>
        <Figure name="Overdue">
          {now.overdueDeadlines} · {millis(now.oldestLagMs)}
        </Figure>
        <Figure name="Races, last hour">
          {now.races.wonInGrace} won · {now.races.lost} lost
        </Figure>
        <Figure name="Refunds">
          {now.refunds.pending ?? 0} pending · {now.refunds.needs_attention ?? 0} need attention
        </Figure>
        <Figure name="On hold">
          {counted(now.heldPayments, 'payment')} · {counted(now.heldWebhooks, 'webhook')} ·{' '}
          {counted(now.heldDeadlines, 'deadline')}
        </Figure>
        <Figure name="Workers">
          {timer.workersAlive} alive · {timer.workersSilent} silent
        </Figure>
        <Figure name="Last heard of">
          {timer.lastSweepAgoMs === null ? 'not known' : `${millis(timer.lastSweepAgoMs)} ago`}
        </Figure>
        <Figure name="Alarms">
          {timer.alarms === null ? (
            'the timer store does not answer'
          ) : (
            <a href="/v1/ops/queues">{timer.alarms}</a>
          )}
        </Figure>
        <Figure name="Relay">{Math.round(now.relayAgeSeconds)} s old</Figure>
      </dl>
      <Bars
        counts={open.dueByMinute}
        caption="orders close in the next 15 minutes unless they are paid, by minutes from now"
        nothing="No order closes in the next 15 minutes."
      />
      <Closes hour={closes.hour} day={closes.day} />
      <Bars
        counts={closes.byMinute}
        caption="orders were closed in the last hour, by minutes; on the right are the newest"
        nothing="No order was closed in the last hour."
      />
    </>
  );
}

const LAG = (ms: number | null): string => (ms === null ? '–' : millis(ms));

/** Who closes, and how late: a cause that closed nobody in a span has no lag there. */
function Closes({ hour, day }: { hour: readonly Cause[]; day: readonly Cause[] }) {
  if (day.length === 0) return <p>No order has closed since yesterday.</p>;
  const cells = (cause: Cause | undefined) => (
    <>
      <td class="number">{cause?.closes ?? 0}</td>
      <td class="number">{LAG(cause?.p50Ms ?? null)}</td>
      <td class="number">{LAG(cause?.p99Ms ?? null)}</td>
    </>
  );
  return (
    <div class="scroll" tabIndex={0}>
      <table class="closes">
        <caption>
          Closes by cause, and their lag: what half of them, and 99 of 100, stay within
        </caption>
        <thead>
          <tr>
            <td rowSpan={2} />
            <th colSpan={3} scope="colgroup">
              Last hour
            </th>
            <th colSpan={3} scope="colgroup">
              Last 24 hours
            </th>
          </tr>
          <tr>
            {['Closes', 'p50', 'p99', 'Closes', 'p50', 'p99'].map((title, index) => (
              <th key={index} scope="col" class="number">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {day.map((cause) => (
            <tr key={cause.by}>
              <th scope="row">{cause.by}</th>
              {cells(hour.find(({ by }) => by === cause.by))}
              {cells(cause)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
