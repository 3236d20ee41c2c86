import { releaseHeld, TimeoutService } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { type ActionRun, recordAction } from '../order/operator-action';
import { rehearse } from '../order/rehearse';

/** An operator lets held deadlines be handled again, once what made them fail is mended. */
@Injectable()
export class ReleaseDeadlines {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly timeouts: TimeoutService,
  ) {}

  /** Subjects by their ids, or by a host's own names; answers with those that were held and are due now. */
  release(
    which: {
      readonly kind?: string | undefined;
      readonly subjectIds?: readonly string[] | undefined;
    },
    { dryRun = false, ...accountable }: ActionRun,
  ): Promise<{ kind: string; subjectId: string }[]> {
    return rehearse(dryRun, this.dataSource, async (tx) => {
      const released = await releaseHeld(tx, {
        kind: which.kind,
        subjects: which.subjectIds?.map((subjectId) => ({ subjectId })),
      });
      this.timeouts.armed(tx, released);
      const subjectIds = released.map(({ subjectId }) => subjectId);
      await recordAction(tx, 'deadline.release', 'deadline', subjectIds, accountable);
      return released.map(({ kind, name }) => ({ kind, subjectId: name }));
    });
  }
}
