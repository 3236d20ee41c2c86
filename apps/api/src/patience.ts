import { Inject } from '@nestjs/common';

/** How long those who look after this process wait for an answer before they say that there is none. */
export interface Patience {
  /** Readiness: longer, and a customer would not have waited either. */
  readonly postgresMs: number;
  readonly redisMs: number;
  /** Prometheus gives up after 10 s by default; what this process counts itself need not wait. */
  readonly gaugesMs: number;
}

const PATIENCE: Patience = { postgresMs: 1_000, redisMs: 500, gaugesMs: 1_500 };

const TOKEN = Symbol('patience');
export const patienceProvider = { provide: TOKEN, useValue: PATIENCE };
export const InjectPatience = (): ParameterDecorator => Inject(TOKEN);
