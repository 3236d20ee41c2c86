import type { DeadlinesOfHosts } from '@app/orders';

/** Calls `use` with the deadlines of a shop that has no orders, as beside TimeoutModule alone; with undefined where it has. */
export async function withDeadlinesOfHosts<T>(
  env: NodeJS.ProcessEnv,
  use: (hosts: DeadlinesOfHosts | undefined) => Promise<T>,
): Promise<T> {
  const core = await import('@app/orders');
  const config = core.loadConfigFor('look', env);
  if (!(await core.hasDeadlinesAlone(config))) return use(undefined);
  const hosts = await core.DeadlinesOfHosts.open(config);
  return use(hosts).finally(() => hosts.close());
}
