import { Args, Flags } from '@oclif/core';
import type { TargetExit, TargetWait } from '@app/orders/look';
import { openTargets } from '../../open-targets';
import { ACCOUNTABILITY, OpsCommand, REHEARSAL } from '../../ops-command';
import { facts } from '../../text/table';
import { moneyText } from '../../text/wording';

export interface TargetSettled {
  readonly dryRun: boolean;
  readonly as: TargetExit;
  readonly wait: TargetWait;
}

const EXITS = {
  closed: 'nobody has paid: the order closes, or of a paid one the other payments are over',
  paid: 'the order is paid, by the payment of --payment',
  retry:
    'the refund goes on: its last attempt where that has not ended, else another one, with a key of its own',
  done: 'the refund was made by hand at the provider',
  replay: 'the webhook is applied again',
  dismiss: 'the webhook has no effect, or the second refund is fetched back or given up',
  refund: 'the money on hold goes back',
  keep: 'the money on hold stays with the shop',
  release: 'the deadline is handled again',
} as const satisfies Readonly<Record<TargetExit, string>>;

export default class TargetsSettle extends OpsCommand {
  static override summary = "End what waits for a person, of orders in a shop's own tables";
  static override description =
    'Look at the provider first. It is written down with actor and reason, in target_actions; what changes an order ' +
    "or asks a provider is done by the shop's own process, with its next sweep at the latest. Money that shows up " +
    'all the same is handled as all late money is.';
  static override examples = [
    '<%= config.bin %> targets settle order:order-close/4711 --as closed --reason "unpaid, says their dashboard"',
    '<%= config.bin %> targets settle order:order-close/4711 --as paid --payment p-812 --reason "paid, case 17"',
    '<%= config.bin %> targets settle refund:0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --as retry --reason "unblocked"',
  ];
  static override args = {
    id: Args.string({
      ignoreStdin: true,
      name: 'ID',
      required: true,
      description: 'as targets list shows it',
    }),
  };
  static override flags = {
    ...ACCOUNTABILITY,
    as: Flags.option({
      description: `how it ends: ${Object.entries(EXITS)
        .map(([exit, what]) => `${exit} (${what})`)
        .join('; ')}`,
      options: Object.keys(EXITS) as TargetExit[],
      required: true,
    })(),
    payment: Flags.string({
      description: "the payment that has paid the order, by the shop's own id",
      helpValue: 'ID',
    }),
    ...REHEARSAL,
  };

  async run(): Promise<TargetSettled> {
    const { args, flags } = await this.parse(TargetsSettle);
    const { actor, reason, as, payment } = flags;
    const given = { actor, reason, ...(payment === undefined ? {} : { payment }) };
    // What the rehearsal has shown is what ends, however long it is looked at.
    let seen: string | undefined;
    const targets = await openTargets(await this.environment());
    try {
      return await this.carryOut(flags, {
        act: async (dryRun) => {
          const wait = await targets.settle(args.id, as, { ...given, seen, dryRun });
          seen = wait.detail;
          return { as, wait };
        },
        describe,
        verdict: ({ wait }, mood) => `${wait.id} ${mood} end: ${EXITS[as]}`,
        word: as,
        done: ({ wait }) => `${wait.id} has ended: ${EXITS[as]}`,
        next: () => 'lastcall targets list',
      });
    } finally {
      await targets.close();
    }
  }
}

function describe({ wait }: { readonly wait: TargetWait }): string {
  const { amount, currency, kind, subject } = wait;
  return facts([
    ['waits', wait.what],
    ['of', [kind, subject].filter(Boolean).join(' ')],
    ['money', amount === null || currency === null ? null : moneyText(amount, currency)],
    ['why', wait.detail],
    ['since', wait.since.toISOString()],
  ]);
}
