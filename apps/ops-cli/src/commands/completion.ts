import { Args } from '@oclif/core';
import { completionScript, type CompletedCommand, type Shell, SHELLS } from '../completion-script';
import { OpsCommand } from '../ops-command';

export default class Completion extends OpsCommand {
  static override summary =
    'Print a script that completes commands, flags and their values with the Tab key';
  static override examples = [
    'source <(<%= config.bin %> completion bash)',
    'source <(<%= config.bin %> completion zsh)',
    '<%= config.bin %> completion fish | source',
  ];
  static override args = {
    shell: Args.string({
      ignoreStdin: true,
      description: 'your shell',
      options: [...SHELLS],
      required: true,
    }),
  };

  async run(): Promise<{ shell: string; script: string }> {
    const { args } = await this.parse(Completion);
    const commands: CompletedCommand[] = this.config.commands
      .filter(({ hidden }) => !hidden)
      .map(({ id, args: named, flags }) => ({
        words: id.split(':'),
        flags: [
          { name: 'help', values: null },
          ...Object.values(flags).map((flag) => ({
            name: flag.name,
            values: flag.type === 'option' ? (flag.options ?? []) : null,
          })),
        ],
        values: Object.values(named).flatMap(({ options }) => options ?? []),
      }));
    const script = completionScript(args.shell as Shell, this.config.bin, commands);
    this.log(script);
    return { shell: args.shell, script };
  }
}
