import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { timerDriverKind } from '@app/timeout';
import { type Config, isProviderName, type ProviderName } from '../../config';
import { HomeError, trustedSettings, writtenSettings } from '../../home';
import { type Check, expectation, finding, ok } from './check';

const SECRET_AGE_LIMIT_DAYS = 365;
const DAY_MS = 86_400_000;

/** Settings that are allowed and still worth a word, and the webhook secret's fingerprint. */
export function examineSettings(config: Config): Check[] {
  return [
    ok(
      'settings',
      'valid',
      `window ${seconds(config.PAYMENT_WINDOW)}, grace ${seconds(config.PAYMENT_GRACE)}, ` +
        `sweep every ${seconds(config.SWEEP_INTERVAL)}, driver ${config.TIMER_DRIVER}`,
    ),
    expectation(
      'settings',
      'timer driver',
      timerDriverKind(config.TIMER_DRIVER).abilities.durable,
      config.TIMER_DRIVER,
      'another TIMER_DRIVER (docs/drivers.md): its alarms end with their process',
    ),
    ...config.PAYMENT_PROVIDERS.filter(isProviderName).flatMap((name) =>
      webhookSecret(config, name),
    ),
    ...foreignHome(config),
  ];
}

/** Not read, as the environment says where the installation is; somebody put it there all the same. */
function foreignHome({ LASTCALL_HOME }: Config): Check[] {
  try {
    writtenSettings(LASTCALL_HOME);
    return [];
  } catch (error) {
    if (!(error instanceof HomeError)) throw error;
    return [finding('settings', 'home', error.message, 'look who wrote it, and delete it')];
  }
}

function webhookSecret(config: Config, provider: ProviderName): Check[] {
  const isSandbox = provider === 'sandbox';
  const name = isSandbox ? 'SANDBOX_WEBHOOK_SECRET' : 'STRIPE_WEBHOOK_SECRET';
  const secret = isSandbox ? config.SANDBOX_WEBHOOK_SECRET : config.STRIPE_WEBHOOK_SECRET;
  if (!secret) return [];
  const days = ageInDays(config.LASTCALL_HOME, name, secret);
  const age = days === undefined ? 'set in the environment, age unknown' : `${days} days old`;
  const checks = [
    expectation(
      'settings',
      'webhook secret',
      days === undefined || days <= SECRET_AGE_LIMIT_DAYS,
      `fingerprint ${fingerprint(secret)}, ${age}`,
      'rotate it: docs/operations.md, "Rotating the webhook secret"',
    ),
  ];
  const previous = config.SANDBOX_WEBHOOK_SECRET_PREVIOUS;
  if (isSandbox && previous) {
    checks.push(
      previous === secret
        ? finding(
            'settings',
            'previous webhook secret',
            'the same as the current one',
            'unset SANDBOX_WEBHOOK_SECRET_PREVIOUS: nothing was rotated',
          )
        : ok(
            'settings',
            'previous webhook secret',
            `fingerprint ${fingerprint(previous)}, still taken`,
          ),
    );
  }
  return checks;
}

/** Enough to compare two installations by, and of no use for finding the secret. */
function fingerprint(secret: string): string {
  return createHash('sha256').update(secret).digest('hex').slice(0, 12);
}

/** Known only for a secret that `npm start` made and keeps. */
function ageInDays(home: string, name: string, secret: string): number | undefined {
  if (trustedSettings(home)[name] !== secret) return undefined;
  const file = join(home, 'secrets.json');
  return Math.floor((Date.now() - statSync(file).mtimeMs) / DAY_MS);
}

function seconds(durationMs: number): string {
  return `${durationMs / 1_000} s`;
}
