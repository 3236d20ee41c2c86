import {
  type AuditEntry,
  CancelOrderByOperator,
  ConsoleView,
  DismissWebhook,
  type NowView,
  ReleaseDeadlines,
  ReplayWebhook,
  RetryRefund,
  SettlePayment,
  TimeoutBrake,
  type WaitEntry,
} from '@app/orders';
import { forceCloseBody, InputBody, OrderId, Scope, Subject, SubjectId } from '@app/orders/http';
import { Controller, Get, HttpCode, Post } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { z } from 'zod';

const reason = forceCloseBody.shape.reason;
const reasonBody = z.strictObject({ reason });
const rehearsableBody = z.strictObject({ reason, dryRun: z.boolean().default(false) });
const settleBody = rehearsableBody.extend({ decision: z.enum(['refund', 'keep', 'accept']) });

type Reason = z.output<typeof reasonBody>;

/** What the console shows and does beside `/v1/ops`: what waits for a person, and its ends. */
@ApiExcludeController()
@Controller('console/api')
export class ConsoleWorkController {
  constructor(
    private readonly view: ConsoleView,
    private readonly payments: SettlePayment,
    private readonly refunds: RetryRefund,
    private readonly replay: ReplayWebhook,
    private readonly dismiss: DismissWebhook,
    private readonly deadlines: ReleaseDeadlines,
    private readonly brake: TimeoutBrake,
    private readonly cancelOrder: CancelOrderByOperator,
  ) {}

  @Get('now')
  @Scope('ops:read')
  now(): Promise<NowView> {
    return this.view.now();
  }

  @Get('work')
  @Scope('ops:read')
  work(): Promise<WaitEntry[]> {
    return this.view.work();
  }

  @Get('audit')
  @Scope('ops:read')
  audit(): Promise<AuditEntry[]> {
    return this.view.audit();
  }

  @Post('payments/:id/settle')
  @HttpCode(200)
  @Scope('ops:write')
  settle(
    @Subject() actor: string,
    @SubjectId() id: string,
    @InputBody(settleBody) { decision, ...run }: z.output<typeof settleBody>,
  ): Promise<object> {
    return this.payments.settle(id, decision, { actor, ...run });
  }

  @Post('refunds/:id/retry')
  @HttpCode(200)
  @Scope('ops:write')
  retry(
    @Subject() actor: string,
    @SubjectId() id: string,
    @InputBody(reasonBody) body: Reason,
  ): Promise<object> {
    return this.refunds.retry(id, { actor, ...body });
  }

  @Post('webhooks/:id/replay')
  @HttpCode(200)
  @Scope('ops:write')
  replayWebhook(
    @Subject() actor: string,
    @SubjectId() id: string,
    @InputBody(reasonBody) body: Reason,
  ): Promise<object> {
    return this.replay.replay(id, { actor, ...body });
  }

  @Post('webhooks/:id/dismiss')
  @HttpCode(200)
  @Scope('ops:write')
  dismissWebhook(
    @Subject() actor: string,
    @SubjectId() id: string,
    @InputBody(reasonBody) body: Reason,
  ): Promise<object> {
    return this.dismiss.dismiss(id, { actor, ...body });
  }

  @Post('deadlines/:id/release')
  @HttpCode(200)
  @Scope('ops:write')
  release(
    @Subject() actor: string,
    @SubjectId() id: string,
    @InputBody(reasonBody) body: Reason,
  ): Promise<object> {
    return this.deadlines.release({ subjectIds: [id] }, { actor, ...body });
  }

  @Post('timeouts/resume')
  @HttpCode(200)
  @Scope('ops:write')
  resume(@Subject() actor: string, @InputBody(reasonBody) body: Reason): Promise<object> {
    return this.brake.release({ actor, ...body });
  }

  /** As `POST /v1/ops/orders/{id}/cancel`, which has no rehearsal. */
  @Post('orders/:id/cancel')
  @HttpCode(200)
  @Scope('ops:write')
  async cancel(
    @Subject() actor: string,
    @OrderId() id: string,
    @InputBody(rehearsableBody) run: z.output<typeof rehearsableBody>,
  ): Promise<object> {
    return await this.cancelOrder.cancel(id, { actor, ...run });
  }
}
