import { inTransaction, releaseHeld, TimeoutService } from '@app/timeout';
import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { type Accountable, recordAction } from '../order/operator-action';

/** An operator lets held deadlines be handled again, once what made them fail is mended. */
@Injectable()
export class ReleaseDeadlines {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly timeouts: TimeoutService,
  ) {}

  /** Answers with the subjects that were held and are due now. */
  release(
    which: {
      readonly kind?: string | undefined;
      readonly subjectIds?: readonly string[] | undefined;
    },
    accountable: Accountable,
  ): Promise<{ kind: string; subjectId: string }[]> {
    return inTransaction(this.dataSource, async (tx) => {
      const released = await releaseHeld(tx, which);
      this.timeouts.armed(tx, released);
      const subjectIds = released.map(({ subjectId }) => subjectId);
      await recordAction(tx, 'deadline.release', 'deadline', subjectIds, accountable);
      return released.map(({ kind, subjectId }) => ({ kind, subjectId }));
    });
  }
}
