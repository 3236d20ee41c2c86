import { Flags } from '@oclif/core';
import type { BrakeView } from '@app/orders';
import { confirmTyped } from '../../confirm';
import { ACCOUNTABILITY, OpsCommand } from '../../ops-command';
import { facts } from '../../text/table';

export default class TimeoutsResume extends OpsCommand {
  static override summary = 'Let timeouts go on that have stopped and wait for a confirmation';
  static override description =
    'They stop by themselves when they are about to handle a large share of everything at once ' +
    'while the clock of the database has jumped, or while most queries to the payment provider ' +
    'fail. Look at both first: what is due is closed as soon as they go on.';
  static override examples = [
    '<%= config.bin %> timeouts resume --reason "clock of the new primary is right"',
  ];
  static override flags = {
    ...ACCOUNTABILITY,
    yes: Flags.boolean({ char: 'y', description: 'do not ask' }),
  };

  async run(): Promise<{ resumed: BrakeView }> {
    const { flags } = await this.parse(TimeoutsResume);
    const { timeoutBrake } = await this.installation();
    const brake = await timeoutBrake.read();
    if (brake) {
      this.note(
        facts([
          ['stopped since', brake.engagedAt.toISOString()],
          ['cause', brake.cause],
          ['due then', `${brake.due} of ${brake.waiting} deadlines of kind ${brake.kind}`],
        ]),
      );
      if (!flags.yes) await confirmTyped('What is due will be handled at once', 'resume');
    }
    const resumed = await timeoutBrake.release(flags);
    this.log('Timeouts go on with the next sweep');
    return { resumed };
  }
}
