import type { TargetLook } from '@app/orders/look';

/** Asks for no installation: a shop with orders of its own has no tables of the order module. */
export async function openTargets(env: NodeJS.ProcessEnv): Promise<TargetLook> {
  const { loadConfigFor, TargetLook: Targets } = await import('@app/orders/look');
  return Targets.open(loadConfigFor('look', env));
}
