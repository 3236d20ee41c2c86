import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { type Settings, SETTINGS } from '../../config';
import type { PaymentProvider } from '../../providers/payment-provider';
import { PaymentProviders } from '../../providers/payment-providers';
import { describeWork, mended, StrandedWork } from '../../providers/stranded-work';
import { HostsProvider, SwitchedOffProvider } from '../../providers/switched-off.provider';
import {
  describeCurrencies,
  MEND,
  UnchargeableProducts,
} from '../../providers/unchargeable-products';
import { type Check, expectation, finding, ok, unknown } from './check';

const ANSWER_LIMIT_MS = 1_000;

/** Looks whether providers answer, what they have been told of us, and whom nobody asks any more. */
@Injectable()
export class ExamineProviders {
  constructor(
    @Inject(SETTINGS) private readonly config: Settings,
    private readonly providers: PaymentProviders,
    private readonly stranded: StrandedWork,
    private readonly unchargeable: UnchargeableProducts,
  ) {}

  async run(): Promise<Check[]> {
    const checks: Check[] = [];
    for (const provider of this.providers.all) {
      if (provider instanceof SwitchedOffProvider) checks.push(notHere(provider));
      else checks.push(await reach(provider), ...(await examineAt(provider)));
    }
    const [first] = this.providers.all;
    const unchargeable = await this.unchargeable.find();
    if (unchargeable.length > 0) {
      checks.push(
        finding('provider', 'currencies', describeCurrencies(unchargeable, first.name), MEND),
      );
    }
    const stranded = await this.stranded.find();
    const setting = mended(this.config, stranded);
    const fix = `set ${setting} and restart: nobody asks it, and refunds wait`;
    return [
      ...checks,
      ...stranded.map((work) =>
        finding('provider', work.provider, `switched off with ${describeWork(work)}`, fix),
      ),
    ];
  }
}

/** Asks after a payment that nobody has: an honest answer is that there is none. */
async function reach(provider: PaymentProvider): Promise<Check> {
  const startedMs = performance.now();
  const answer = await provider.findPayment({
    paymentId: randomUUID(),
    providerPaymentId: `none_${randomUUID()}`,
    amount: 1,
    currency: 'EUR',
    expiresAt: new Date(),
  });
  const tookMs = Math.round(performance.now() - startedMs);
  const name = `${provider.name} reachable`;
  const fix =
    'closing orders wait for it; check its status page and SANDBOX_URL or the Stripe keys';
  if (answer.state === 'UNKNOWN') return unknown('provider', name, answer.why, fix);
  const isQuick = tookMs <= ANSWER_LIMIT_MS;
  return expectation('provider', name, isQuick, `answers within ${tookMs} ms`, fix);
}

/** A command has not the code of a host, and may be run without secrets: the processes have both. */
function notHere(provider: SwitchedOffProvider): Check {
  const { name, why } = provider;
  if (provider instanceof HostsProvider) return ok('provider', name, `${why}; it was not asked`);
  return unknown('provider', name, why, 'set it for the command as well, and it is asked');
}

/** What the provider itself has been told of us. */
async function examineAt(provider: PaymentProvider): Promise<Check[]> {
  try {
    const found = (await provider.examine?.()) ?? [];
    return found.map(({ name, detail, fix }) => {
      const title = `${provider.name}: ${name}`;
      return fix === null ? ok('provider', title, detail) : finding('provider', title, detail, fix);
    });
  } catch (error) {
    const fix = 'a key that may read webhook endpoints is needed to look at them';
    return [unknown('provider', `${provider.name}: webhook endpoint`, error, fix)];
  }
}
