import { Look } from '@app/orders/look';
import { effectiveSettings } from './effective-settings';
import { quietTelemetry } from './quiet-telemetry';

/** For commands that read orders and nothing else: see libs/orders/src/look.ts. */
export async function openLook(
  env: NodeJS.ProcessEnv,
  note: (line: string) => void,
): Promise<Look> {
  const { config } = await effectiveSettings('look', env, note);
  return Look.open(config, (error) => quietTelemetry(note).failed('redis', error));
}
