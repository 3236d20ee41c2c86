import { FollowUpHealth } from './follow-up-health';
import { HandlerHealth, type HandlerHealthTelemetry, type Standstill } from './handler-health';

/** Whether a kind is handled at all: by its handler, and by what follows that one's commits. */
export class KindHealth {
  readonly handler: HandlerHealth;
  readonly followUps: FollowUpHealth;

  /**
   * @param changed called when what follows commits has stopped the kind, or works again: that is heard
   * of between rounds, where nobody else would probe, or go on
   */
  constructor(kind: string, telemetry: HandlerHealthTelemetry, changed: () => void) {
    const handlerFails = (_: string, error: unknown): void => telemetry.handlerFails(kind, error);
    const handlerWorks = (): void => void (this.isStopped || telemetry.handlerWorks(kind));
    this.handler = new HandlerHealth(kind, { handlerFails, handlerWorks });
    const ofFollowUps = new HandlerHealth(kind, {
      handlerFails: (_, error) => {
        handlerFails(kind, error);
        changed();
      },
      handlerWorks: () => {
        handlerWorks();
        changed();
      },
    });
    this.followUps = new FollowUpHealth(ofFollowUps);
  }

  /** True while the kind stands still. */
  get isStopped(): boolean {
    return this.handler.isStopped || this.followUps.isStopped;
  }

  /** What it stands still for, and for how long; undefined while the kind goes on. */
  get standstill(): Standstill | undefined {
    return this.handler.standstill ?? this.followUps.standstill;
  }

  /** True when it stands still, and it is not yet time to try again. */
  get waits(): boolean {
    return this.handler.waits || this.followUps.waits;
  }

  /** In how many milliseconds to probe; undefined while the kind goes on. */
  get probesInMs(): number | undefined {
    if (!this.isStopped) return undefined;
    return Math.max(this.handler.probesInMs ?? 0, this.followUps.probesInMs ?? 0);
  }
}
