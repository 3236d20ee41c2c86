import { Args } from '@oclif/core';
import { changeContexts, contextNamed } from '../../contexts';
import { OpsCommand } from '../../ops-command';

export default class ContextUse extends OpsCommand {
  static override summary = 'Use this installation wherever nothing else says which';
  static override examples = ['<%= config.bin %> context use prod'];
  static override args = {
    name: Args.string({
      ignoreStdin: true,
      name: 'NAME',
      description: 'of a context',
      required: true,
    }),
  };

  async run(): Promise<{ current: string }> {
    const { args } = await this.parse(ContextUse);
    await changeContexts(process.env, (kept) => {
      contextNamed(kept, args.name);
      return { ...kept, current: args.name };
    });
    this.log(`Context ${args.name} is used from now on`);
    return { current: args.name };
  }
}
