import { Args, Flags } from '@oclif/core';
import { usageFailure } from '../../command-failure';
import { confirmTyped } from '../../confirm';
import { instant, parseId } from '../../filters';
import {
  type ForceCloseOutcome,
  nextStep,
  planText,
  resultText,
  summarize,
} from '../../text/force-close-outcome';
import { readIds } from '../../id-list';
import type { Installation } from '../../installation';
import { interruption } from '../../interruption';
import { ACCOUNTABILITY, OpsCommand } from '../../ops-command';
import { progress } from '../../text/progress';
import { countText } from '../../text/wording';

export default class OrdersForceClose extends OpsCommand {
  static override summary = 'Close unpaid orders now, with a reason';
  static override description =
    'First the plan, then each order through the same guard as everybody else, checked again: ' +
    'what was paid meanwhile is skipped and reported. An order with a payment open at the ' +
    'provider is closed only after the provider has been asked. More than one order needs ' +
    'a typed confirmation, or --yes.';
  static override examples = [
    '<%= config.bin %> orders force-close 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --reason "fraud, case 17"',
    '<%= config.bin %> orders force-close --file ids.txt --reason "sale was a mistake" --dry-run',
    '<%= config.bin %> orders force-close --overdue --limit 500 --reason "worker outage" --yes',
  ];
  static override strict = false;
  static override args = {
    // Without ignoreStdin oclif takes piped text for a missing argument, and --file - finds nothing.
    id: Args.string({ ignoreStdin: true, name: 'ID...', description: 'ids of orders' }),
  };
  static override flags = {
    ...ACCOUNTABILITY,
    file: Flags.string({ description: 'ids, one a line; - reads stdin', helpValue: 'PATH' }),
    customer: Flags.string({ description: "this customer's unpaid orders", helpValue: 'ID' }),
    overdue: Flags.boolean({ description: 'unpaid orders whose deadline has passed' }),
    since: instant({ description: 'unpaid orders placed since then' }),
    limit: Flags.integer({
      description: 'with a filter, at most so many',
      default: 1_000,
      min: 1,
      max: 100_000,
    }),
    'dry-run': Flags.boolean({ description: 'run the real transactions and roll each back' }),
    yes: Flags.boolean({ char: 'y', description: 'do not ask' }),
  };

  async run(): Promise<ForceCloseOutcome> {
    const { argv, flags } = await this.parse(OrdersForceClose);
    const named = await readIds(argv as string[], flags.file);
    const ids = await Promise.all(named.map((text) => parseId(text, 'an order')));
    const isFiltered = flags.overdue || flags.customer !== undefined || flags.since !== undefined;
    if (ids.length > 0 === isFiltered) {
      throw usageFailure(
        'Name the orders (IDs or --file) or filter them (--overdue, --customer, --since): one of the two',
      );
    }
    const installation = await this.installation();
    const { forceClose } = installation;
    const orderIds = isFiltered
      ? await forceClose.find({ ...flags, customerId: flags.customer })
      : [...new Set(ids)];
    const plan = await forceClose.plan(orderIds);
    const closable = plan.filter(({ action }) => action !== 'skip');
    if (plan.length !== 1) this.note(planText(plan));
    if (closable.length > 1 && !flags.yes && !flags['dry-run']) {
      await confirmTyped(
        this.ctor,
        `This closes ${countText(closable.length, 'order')}`,
        String(closable.length),
      );
    }
    const outcome = await this.#close(installation, orderIds, flags);
    if (isFiltered && orderIds.length === flags.limit) {
      this.note(
        `--limit was ${flags.limit}: others may match still; run it again, or with a higher one`,
      );
    }
    return outcome;
  }

  async #close(
    installation: Installation,
    orderIds: readonly string[],
    flags: { actor: string; reason: string; 'dry-run': boolean },
  ): Promise<ForceCloseOutcome> {
    const signal = interruption((line) => this.note(line));
    const bar =
      orderIds.length > 20 ? progress(flags['dry-run'] ? 'Rehearsing' : 'Closing') : undefined;
    let done = 0;
    const results = await installation
      .closeByForce(orderIds, {
        actor: flags.actor,
        reason: flags.reason,
        dryRun: flags['dry-run'],
        signal,
        onResult: () => bar?.update(++done, orderIds.length),
      })
      .finally(() => bar?.stop());
    const { outcome, exitCode } = summarize(results, {
      dryRun: flags['dry-run'],
      asked: orderIds.length,
      isInterrupted: signal.aborted,
    });
    this.log(resultText(outcome));
    this.endWith(exitCode);
    const next = nextStep(outcome);
    if (next) this.note(`Next: ${next}`);
    return outcome;
  }
}
