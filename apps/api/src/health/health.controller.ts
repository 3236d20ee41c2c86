import { LastcallError } from '@app/orders';
import { Public, Unlimited } from '@app/orders/http';
import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';

import { Draining } from '../draining';
import { Answers } from '../openapi/answers';
import { Dependencies, type DependencyStates } from './dependencies';

@ApiTags('ops')
@Controller('health')
@Unlimited(true)
export class HealthController {
  constructor(
    private readonly dependencies: Dependencies,
    private readonly draining: Draining,
  ) {}

  @Get('live')
  @Public()
  @Answers(200, 'Alive', {
    summary: 'This process runs; asks nothing of anybody else',
    faults: [],
  })
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  /** Without Redis alarms come late and locks are skipped, but every order is still right. */
  @Get('ready')
  @Public()
  @Answers(200, 'Ready', {
    summary: 'This process can serve; "degraded" without Redis, 503 without Postgres',
    faults: ['unavailable'],
  })
  async ready(): Promise<{ status: 'ok' | 'degraded'; checks: DependencyStates }> {
    if (this.draining.isDraining) {
      throw new LastcallError('unavailable', 'This process is shutting down', { checks: {} });
    }
    const checks = await this.dependencies.ask();
    if (checks.postgres === 'down') {
      throw new LastcallError('unavailable', 'Postgres does not answer', { checks });
    }
    return { status: checks.redis === 'down' ? 'degraded' : 'ok', checks };
  }
}
