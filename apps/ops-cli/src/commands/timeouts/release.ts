import { Args, Flags } from '@oclif/core';
import { CommandFailure, usageFailure } from '../../command-failure';
import { confirmTyped } from '../../confirm';
import { withDeadlinesOfHosts } from '../../deadlines-of-hosts';
import { EXIT } from '../../exit-code';
import { ACCOUNTABILITY, OpsCommand } from '../../ops-command';
import { table } from '../../text/table';
import { countText } from '../../text/wording';

export default class TimeoutsRelease extends OpsCommand {
  static override summary = 'Make held deadlines due again, once what made them fail is mended';
  static override description =
    "timeouts verify shows the held ones, orders show tells the error of an order's, doctor that of the first of a host's.";
  static override examples = [
    '<%= config.bin %> timeouts release 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --reason "fixed in 1.4.2"',
    '<%= config.bin %> timeouts release order-4711 --kind trial-end --reason "fixed in 1.4.2"',
    '<%= config.bin %> timeouts release --all --kind refund --reason "provider is back" --yes',
  ];
  static override strict = false;
  static override args = {
    id: Args.string({ ignoreStdin: true, name: 'ID...', description: 'ids of their subjects' }),
  };
  static override flags = {
    ...ACCOUNTABILITY,
    all: Flags.boolean({ description: 'every held deadline (of the kind)' }),
    kind: Flags.string({ description: 'only of this kind', helpValue: 'KIND' }),
    yes: Flags.boolean({ char: 'y', description: 'do not ask' }),
  };

  async run(): Promise<{ released: { kind: string; subjectId: string }[] }> {
    const { argv, flags } = await this.parse(TimeoutsRelease);
    const subjectIds = argv as string[];
    if (subjectIds.length > 0 === flags.all) {
      throw usageFailure('Give ids, or --all: one of the two');
    }
    const which = { kind: flags.kind, subjectIds: flags.all ? undefined : subjectIds };
    const released = await withDeadlinesOfHosts(await this.environment(), async (hosts) => {
      const deadlines = hosts ?? (await this.installation()).releaseDeadlines;
      if (flags.all && !flags.yes)
        await confirmTyped(this.ctor, 'This releases every held deadline', 'all');
      return deadlines.release(which, flags);
    });
    if (released.length < subjectIds.length) this.#tellNotHeld(released.length, subjectIds);
    if (released.length > 0) {
      this.log(
        table(released, [
          { title: 'KIND', value: ({ kind }) => kind },
          { title: 'SUBJECT', value: ({ subjectId }) => subjectId },
        ]),
      );
    }
    this.log(`${countText(released.length, 'deadline')} due now`);
    return { released };
  }

  #tellNotHeld(released: number, asked: readonly string[]): void {
    if (released === 0) {
      throw new CommandFailure({
        code: 'deadline_not_held',
        exitCode: EXIT.notFound,
        what:
          asked.length === 1
            ? `There is no held deadline of ${asked[0]}`
            : `None of these ${asked.length} subjects has a held deadline`,
        next: 'lastcall timeouts verify shows the held ones',
      });
    }
    this.endWith(EXIT.partlyFailed);
    this.note(`${asked.length - released} of them had no held deadline`);
  }
}
