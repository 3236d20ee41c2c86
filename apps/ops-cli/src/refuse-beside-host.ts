import type { RunningSettings } from '@app/orders';
import { CommandFailure } from './command-failure';
import { EXIT } from './exit-code';

/** What a command cannot do beside the processes that run, said before any setting is demanded. */
export type Refuse = (running: RunningSettings) => void;

const ONLY_ITS_PROCESSES = 'what the host brings itself, only its processes have';

/**
 * Before something that would change orders in bulk, which the host's hooks have to hear of.
 * @throws {CommandFailure} hooks_elsewhere
 */
export const refuseBesideHooks: Refuse = ({ host }) => {
  if (!host.hasHooks) return;
  throw new CommandFailure({
    code: 'hooks_elsewhere',
    exitCode: EXIT.refused,
    what: "This command changes orders, and cannot call the host's hooks or its own stock",
    why: ONLY_ITS_PROCESSES,
    next: 'start a worker of the host: it sweeps by itself; to reconcile, one of them calls Reconcile of @lastcall/orders',
  });
};

/** @throws {CommandFailure} provider_elsewhere: what would be asked is in the host's code */
export const refuseHostsProviders: Refuse = ({ host: { providers } }) => {
  if (providers.length === 0) return;
  throw new CommandFailure({
    code: 'provider_elsewhere',
    exitCode: EXIT.refused,
    what: `This command asks the payment providers, and cannot ask ${providers.join(', ')}`,
    why: ONLY_ITS_PROCESSES,
    next: 'they sweep by themselves; to reconcile, one of them calls Reconcile of @lastcall/orders',
    fields: { providers },
  });
};

/** A host brings its own providers, and serves what it serves. @throws {CommandFailure} no_console */
export const refuseWithoutConsole: Refuse = ({ host: { providers } }) => {
  if (providers.length === 0) return;
  throw new CommandFailure({
    code: 'no_console',
    exitCode: EXIT.refused,
    what: 'There is no console to open: the processes of this installation are those of a host',
    why: 'only the API of npm start serves the console',
    next: 'lastcall stats, orders list and doctor show the same; the other commands change it',
  });
};

/** For what is about orders, where a host has our deadlines or close targets alone. */
export const deadlinesAlone = (): CommandFailure =>
  new CommandFailure({
    code: 'deadlines_alone',
    exitCode: EXIT.refused,
    what: 'There are deadlines of a host alone here, and none of orders, which this command is for',
    why: "only the host's processes know its handlers and alarms: each sweep of its workers handles what is due, and arms what has lost its alarm",
    next:
      'lastcall doctor, targets list and settle, and timeouts verify, release, resume and backfill --from-query are for these; ' +
      'where there are orders of OrdersModule, too, set the DATABASE_SCHEMA that they are in',
  });
