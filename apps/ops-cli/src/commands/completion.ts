import { Args } from '@oclif/core';
import { completionScript, type CompletedCommand } from '../completion-script';
import { OpsCommand } from '../ops-command';

export default class Completion extends OpsCommand {
  static override summary = 'Print a script that completes commands and flags with the Tab key';
  static override examples = [
    'source <(<%= config.bin %> completion bash)',
    'source <(<%= config.bin %> completion zsh)',
  ];
  static override args = {
    shell: Args.string({
      ignoreStdin: true,
      description: 'your shell',
      options: ['bash', 'zsh'],
      required: true,
    }),
  };

  async run(): Promise<{ shell: string; script: string }> {
    const { args } = await this.parse(Completion);
    const commands: CompletedCommand[] = this.config.commands
      .filter(({ hidden }) => !hidden)
      .map(({ id, flags }) => ({
        words: id.split(':'),
        flags: ['help', ...Object.keys(flags)].map((name) => `--${name}`),
      }));
    const script = completionScript(
      args.shell === 'zsh' ? 'zsh' : 'bash',
      this.config.bin,
      commands,
    );
    this.log(script);
    return { shell: args.shell, script };
  }
}
