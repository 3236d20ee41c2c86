import { type AppProcess, type Installation, startInstallation } from './installation';

/** How long a restarted process may take to bring something to its end, on a busy machine. */
export const RECOVERY_LIMIT_MS = 60_000;

/** An installation whose one process is killed at a step, and started again. */
export interface CrashingShop extends Installation {
  /** Runs until the process has died at the step, and starts another. */
  crashAt(failpoint: string, act: () => Promise<unknown>): Promise<void>;
}

export async function startCrashingShop(): Promise<CrashingShop> {
  const shop = await startInstallation();
  let app: AppProcess = await shop.startProcess();
  return Object.assign(shop, {
    crashAt: async (failpoint: string, act: () => Promise<unknown>) => {
      await app.dieAt(failpoint);
      // Whoever was waiting for an answer is cut off.
      await act().catch(() => undefined);
      expect(await app.gone).toBe('SIGKILL');
      app = await shop.startProcess();
    },
  });
}
