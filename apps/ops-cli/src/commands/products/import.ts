import { Args, Flags } from '@oclif/core';
import type { ImportCounts } from '@app/orders';
import { CommandFailure } from '../../command-failure';
import { confirmTyped } from '../../confirm';
import { EXIT } from '../../exit-code';
import { interruption } from '../../interruption';
import { accountableAs, OpsCommand } from '../../ops-command';
import { readProductFile, refuseWrongLines } from '../../product-file';
import { progress } from '../../text/progress';
import { countText } from '../../text/wording';

export interface ImportOutcome extends ImportCounts {
  readonly dryRun: boolean;
  readonly lines: number;
  readonly tookMs: number;
}

export default class ProductsImport extends OpsCommand {
  static override summary = 'Take in a CSV file of products: all of it, or nothing';
  static override description =
    'The first line names the columns: sku, name, unitPrice (minor units), currency, and stock, which ' +
    'may be left out or empty: how many can be ordered from now on. Products that are not in the file ' +
    'stay as they are. Every wrong line is told of, and then nothing is changed.';
  static override examples = [
    '<%= config.bin %> products import products.csv --reason "spring list" --dry-run',
    'cat products.csv | <%= config.bin %> products import - --reason "spring list" --yes',
  ];
  static override args = {
    file: Args.string({
      ignoreStdin: true,
      description: 'CSV in UTF-8; - reads it from the input',
      required: true,
    }),
  };
  static override flags = {
    ...accountableAs('products import'),
    'dry-run': Flags.boolean({ description: 'check every line, and tell what would change' }),
    yes: Flags.boolean({ char: 'y', description: 'do not ask' }),
  };

  async run(): Promise<ImportOutcome> {
    const { args, flags } = await this.parse(ProductsImport);
    const { actor, reason, 'dry-run': dryRun } = flags;
    const startedAt = performance.now();
    const { lines, complaints } = await readProductFile(args.file);
    const { importProducts } = await this.installation();
    refuseWrongLines([...complaints, ...importProducts.check(lines)], (line) => this.note(line));
    const outcome = (counts: ImportCounts): ImportOutcome => ({
      ...{ dryRun, lines: lines.length, ...counts },
      tookMs: Math.round(performance.now() - startedAt),
    });
    const plan = await importProducts.plan(lines);
    if (dryRun) {
      this.log(`${countsText(plan, 'would be')} (dry run: nothing was changed)`);
      return outcome(plan);
    }
    if (!flags.yes) await confirmTyped(this.ctor, countsText(plan, 'will be'), 'import');
    const signal = interruption((line) => this.note(line));
    const bar = progress('Products');
    try {
      const counts = await importProducts.run(
        lines,
        { actor, reason },
        { onProgress: (done) => bar.update(done, lines.length), signal },
      );
      bar.stop();
      this.log(countsText(counts, 'were'));
      return outcome(counts);
    } catch (error) {
      // What else fails once it is interrupted tells for itself what was changed, as a COMMIT without an answer.
      if (error !== signal.reason) throw error;
      const next = `${this.config.bin} products import ${args.file} --reason TEXT`;
      throw new CommandFailure({
        ...{ code: 'interrupted', exitCode: EXIT.interrupted, next },
        what: 'Interrupted; nothing was changed',
      });
    } finally {
      bar.stop();
    }
  }
}

function countsText(counts: ImportCounts, be: 'were' | 'would be' | 'will be'): string {
  const { created, updated, restocked, unchanged } = counts;
  const are = be === 'were' && created === 1 ? 'was' : be;
  const stay = unchanged === 1 ? 'stays as it is' : 'stay as they are';
  return `${countText(created, 'product')} ${are} created, ${updated} updated, ${restocked} restocked; ${unchanged} ${stay}`;
}
