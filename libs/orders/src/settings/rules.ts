import { timerDriverKinds } from '@app/timeout';
import { schema, toldSchema } from './schema';
import { webUrl } from './web-addresses';

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

const rulesOf = (settingsOf: typeof schema) =>
  settingsOf.superRefine((settings, context) => {
    const complain = (name: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [name], message });
    if (settings.AUTH_JWT_SECRET && settings.AUTH_JWKS_URL) {
      complain('AUTH_JWKS_URL', 'and AUTH_JWT_SECRET are both set: keep one');
    }
    if (settings.AUTH_JWKS_URL) {
      // Its keys sign tokens for other programs, and for other customers of the issuer.
      for (const name of ['AUTH_ISSUER', 'AUTH_AUDIENCE'] as const) {
        if (!settings[name]) complain(name, 'is missing, and AUTH_JWKS_URL is set');
      }
      if (!isPrivate(settings.AUTH_JWKS_URL)) {
        complain('AUTH_JWKS_URL', 'must begin with https:// unless it is on this machine');
      }
    }
    if (settings.PAYMENT_GRACE > 0 && settings.SWEEP_INTERVAL >= 60_000) {
      complain('SWEEP_INTERVAL', 'must be less than 1m: it bounds how late an order may close');
    }
    if (settings.TIMER_HORIZON < 2 * settings.SWEEP_INTERVAL) {
      complain('TIMER_HORIZON', 'must be at least twice SWEEP_INTERVAL, which arms alarms ahead');
    }
  });

export const rules = rulesOf(schema);

/** As {@link rules}, for what processes have told of themselves. */
export const toldRules = rulesOf(toldSchema);

/** What the providers that are switched on demand: those of a host's own have their settings from it. */
export const providerRules = <Rules extends typeof rules>(demands: Rules): Rules =>
  demands.superRefine((settings, context) => {
    const complain = (name: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [name], message });
    const { PAYMENT_PROVIDERS: names, PAYMENT_PROVIDER: alias } = settings;
    if (alias && alias !== names[0]) {
      complain('PAYMENT_PROVIDER', `and PAYMENT_PROVIDERS differ: keep PAYMENT_PROVIDERS`);
    }
    if (names.includes('sandbox') && !settings.SANDBOX_WEBHOOK_SECRET) {
      complain('SANDBOX_WEBHOOK_SECRET', 'is missing: the sandbox signs its webhooks with it');
    }
    if (names.includes('stripe')) {
      for (const name of ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET'] as const) {
        if (!settings[name]) complain(name, 'is missing, and stripe is switched on');
      }
    }
  });

export const timerNeeds = (settings: Readonly<Record<string, unknown>>): string[] => {
  const kind = timerDriverKinds().get(String(settings.TIMER_DRIVER));
  return (kind?.needs ?? []).filter((name) => settings[name] === undefined);
};

/** Whoever arms alarms has to reach them. */
export const armingRules = <Rules extends typeof rules>(demands: Rules): Rules =>
  demands.superRefine((settings, context) => {
    for (const name of timerNeeds(settings)) {
      const message = `is missing: TIMER_DRIVER=${settings.TIMER_DRIVER} needs it`;
      context.addIssue({ code: 'custom', path: [name], message });
    }
  });

/** What a process that answers HTTP requests demands beside. */
export const serverRules = armingRules(providerRules(rules)).superRefine((settings, context) => {
  if (settings.AUTH_JWT_SECRET || settings.AUTH_JWKS_URL) return;
  const message = 'is missing: set it (32 characters or more), or AUTH_JWKS_URL';
  context.addIssue({ code: 'custom', path: ['AUTH_JWT_SECRET'], message });
});

/** Nobody on the way can change what comes back. */
function isPrivate(address: string): boolean {
  const url = webUrl(address);
  // What is no address has a complaint of its own.
  return !url || url.protocol === 'https:' || LOOPBACK.test(url.hostname);
}
