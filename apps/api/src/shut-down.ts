import { setTimeout as delay } from 'node:timers/promises';
import type { Api } from './create-app';

/** Requests under way get this long; the rest of the limit belongs to the workers, which take 15 s at the most. */
const REQUESTS_LIMIT_MS = 4_000;
/** Since the door is closed. */
const HARD_LIMIT_MS = 19_700;

/**
 * Ends the process in order: readiness says no for `noticeMs`, nothing new is accepted, what is under way
 * is finished, the workers drain. Exit code 0, or 1 when it does not come to an end 20 s after that notice.
 */
export function shutDownOnSignals(api: Api, noticeMs: number): void {
  let isEnding = false;
  const end = (signal: NodeJS.Signals): void => {
    // A terminal's Ctrl-C and a parent that passes it on are one wish, not two.
    if (isEnding) return;
    isEnding = true;
    api.logger.info({ signal }, 'shutting down');
    const limitMs = noticeMs + HARD_LIMIT_MS;
    const overdue = setTimeout(() => {
      api.logger.error(`shutting down took more than ${limitMs} ms`);
      process.exit(1);
    }, limitMs);
    shutDown(api, noticeMs)
      .then(() => {
        clearTimeout(overdue);
        api.logger.info('stopped');
        process.exit(0);
      })
      .catch((error: unknown) => {
        api.logger.error({ err: error }, 'shutting down failed');
        process.exit(1);
      });
  };
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
}

/** `notice` is how long readiness says no before the door closes: so many milliseconds, or until it resolves. */
export async function shutDown(
  { app, draining, logger }: Api,
  notice: number | Promise<void>,
): Promise<void> {
  draining.begin();
  await (typeof notice === 'number' ? delay(notice) : notice);
  // Nest alone would stop the workers first and close the door last.
  const server = app.getHttpServer();
  const cutOff = setTimeout(() => {
    logger.warn('requests that do not end are cut off');
    server.closeAllConnections();
  }, REQUESTS_LIMIT_MS);
  await app.getHttpAdapter().getInstance().close();
  clearTimeout(cutOff);
  await app.close();
}
