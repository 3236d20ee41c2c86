import { Flags } from '@oclif/core';
import type { ActionRun, BrakeView, TimeoutBrake } from '@app/orders';
import { confirmTyped } from '../../confirm';
import { ACCOUNTABILITY, OpsCommand } from '../../ops-command';
import { facts } from '../../text/table';

export default class TimeoutsResume extends OpsCommand {
  static override summary = 'Let timeouts go on that have stopped and wait for a confirmation';
  static override description =
    'They stop by themselves when they are about to handle a large share of everything at once ' +
    'while the clock of the database has jumped, or while most queries to the payment provider ' +
    'fail (of a host with deadlines alone: while it suspects something). Look at both first: what is due is closed as soon as they go on.';
  static override examples = [
    '<%= config.bin %> timeouts resume --reason "clock of the new primary is right"',
    '<%= config.bin %> timeouts resume --kind trial-mail --reason "mail is up"',
  ];
  static override flags = {
    ...ACCOUNTABILITY,
    kind: Flags.string({
      description:
        "of a host's deadlines beside orders: those that this kind stopped, as doctor says",
      helpValue: 'KIND',
    }),
    yes: Flags.boolean({ char: 'y', description: 'do not ask' }),
  };

  async run(): Promise<{ resumed: BrakeView }> {
    const { flags } = await this.parse(TimeoutsResume);
    const core = await import('@app/orders');
    const config = core.loadConfigFor('look', await this.environment());
    if (!(await core.hasDeadlinesAlone(config))) {
      return this.#resume((await this.installation()).timeoutBrake, flags);
    }
    // A shop that has our deadlines alone has no tables of the order module.
    const own = await core.openBrakeOfDeadlines(config);
    return this.#resume(own, flags).finally(() => own.close());
  }

  async #resume(
    timeoutBrake: Pick<TimeoutBrake, 'read' | 'release'>,
    { kind, ...flags }: ActionRun & { readonly yes: boolean; readonly kind: string | undefined },
  ): Promise<{ resumed: BrakeView }> {
    const brake = await timeoutBrake.read(kind);
    if (brake) {
      this.note(
        facts([
          ['stopped since', brake.engagedAt.toISOString()],
          ['cause', brake.cause],
          ['due then', `${brake.due} of ${brake.waiting} deadlines of kind ${brake.kind}`],
        ]),
      );
      if (!flags.yes)
        await confirmTyped(this.ctor, 'What is due will be handled at once', 'resume');
    }
    const resumed = await timeoutBrake.release(flags, { kind, seen: brake });
    this.log('Timeouts go on within a second or two');
    return { resumed };
  }
}
