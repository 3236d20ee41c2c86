import { Args } from '@oclif/core';
import { changeContexts, contextNamed } from '../../contexts';
import { OpsCommand } from '../../ops-command';

export default class ContextRemove extends OpsCommand {
  static override summary = 'Forget how to get to this installation; the installation stays';
  static override examples = ['<%= config.bin %> context remove prod'];
  static override args = {
    name: Args.string({
      ignoreStdin: true,
      name: 'NAME',
      description: 'of a context',
      required: true,
    }),
  };

  async run(): Promise<{ removed: string; current: string | null }> {
    const { args } = await this.parse(ContextRemove);
    const { current } = await changeContexts(process.env, (kept) => {
      contextNamed(kept, args.name);
      const left = Object.entries(kept.contexts).filter(([name]) => name !== args.name);
      return {
        current: kept.current === args.name ? null : kept.current,
        contexts: Object.fromEntries(left),
      };
    });
    this.log(`Context ${args.name} is forgotten`);
    return { removed: args.name, current };
  }
}
