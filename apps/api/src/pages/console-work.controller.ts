import {
  type ActionResult,
  type AuditPage,
  CONSOLE_ACTIONS,
  ConsoleActions,
  ConsoleView,
  isAuditCursor,
  LastcallError,
  type NowView,
  type PageSession,
  PageSessions,
  type WaitEntry,
} from '@app/orders';
import {
  forceCloseBody,
  idempotencyKey,
  InputBody,
  InputQuery,
  Scope,
  settleRefundBody,
  Subject,
  SubjectId,
} from '@app/orders/http';
import { Controller, Delete, Get, HttpCode, Post, Req } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { SecurityLog } from '../security-log';

/** More than one list of the console has. */
const MOST_AT_ONCE = 200;
const RESUME = 'resume_timeouts';
/** The reason of what is rolled back: it is asked for afterwards. */
const REHEARSED = 'rehearsal';

const run = {
  /** Needed to do it; its rehearsal is written down nowhere. */
  reason: forceCloseBody.shape.reason.optional(),
  dryRun: z.boolean().default(false),
};
const isReasoned = ({ dryRun, reason }: { dryRun: boolean; reason?: string | undefined }) =>
  dryRun || reason !== undefined;
const noReason = { path: ['reason'], message: 'must say why' };

const actionBody = z
  .strictObject({
    action: z.enum(CONSOLE_ACTIONS).exclude([RESUME]),
    ids: z.array(z.uuid().toLowerCase()).min(1).max(MOST_AT_ONCE),
    /** As typed by the operator: how many they mean to change, where it is more than one. */
    count: z.int().optional(),
    /** Of a refund that is over: what was sent, in minor units. */
    amount: settleRefundBody.shape.amount,
    /** New for a new change; the same to send again one whose answer got lost. */
    key: idempotencyKey.optional(),
    ...run,
  })
  .refine(isReasoned, noReason)
  .refine(({ dryRun, ids, count }) => dryRun || ids.length === 1 || count === ids.length, {
    ...{ path: ['count'], message: 'must be how many ids there are' },
  })
  .refine(
    ({ action, ids, amount }) =>
      amount === undefined || (action === 'finish_refund' && ids.length === 1),
    { path: ['amount'], message: 'must be of one refund that is settled as done' },
  );
const resumeBody = z
  .strictObject({ ids: z.array(z.uuid().toLowerCase()).length(1), ...run })
  .refine(isReasoned, noReason);
const auditQuery = z.strictObject({
  cursor: z
    .string()
    .refine(isAuditCursor, 'must be the nextCursor of an earlier answer')
    .optional(),
});

interface Done {
  readonly results: readonly ActionResult[];
}

/** What the console shows and does beside `/v1/ops`: what waits for a person, and its ends. */
@ApiExcludeController()
@Controller('console/api')
export class ConsoleWorkController {
  constructor(
    private readonly view: ConsoleView,
    private readonly actions: ConsoleActions,
    private readonly sessions: PageSessions,
    private readonly security: SecurityLog,
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
  audit(@InputQuery(auditQuery) { cursor }: z.output<typeof auditQuery>): Promise<AuditPage> {
    return this.view.audit(cursor);
  }

  /** One action, to one subject or to a list of them; each is refused or done by itself. */
  @Post('actions')
  @HttpCode(200)
  @Scope('ops:write')
  async act(
    @Subject() actor: string,
    @InputBody(actionBody)
    { action, ids, amount, dryRun, key, reason = REHEARSED }: z.output<typeof actionBody>,
  ): Promise<Done> {
    const run = { actor, reason, amount, dryRun, idempotencyKey: key };
    return { results: await this.actions.run(action, ids, run) };
  }

  @Post('timeouts/resume')
  @HttpCode(200)
  @Scope('ops:admin')
  async resume(
    @Subject() actor: string,
    @InputBody(resumeBody) { ids, dryRun, reason = REHEARSED }: z.output<typeof resumeBody>,
  ): Promise<Done> {
    return { results: await this.actions.run(RESUME, ids, { actor, reason, dryRun }) };
  }

  @Get('sessions')
  @Scope('ops:admin')
  openSessions(): Promise<PageSession[]> {
    return this.sessions.list('console');
  }

  @Delete('sessions/:id')
  @HttpCode(204)
  @Scope('ops:admin')
  async revoke(
    @Req() request: FastifyRequest,
    @Subject() actor: string,
    @SubjectId() id: string,
  ): Promise<void> {
    const ended = await this.sessions.revoke('console', { id });
    if (ended.sessions + ended.links === 0) {
      throw new LastcallError('not_found', 'This session has ended already');
    }
    this.security.session('console_revoked', request, actor);
  }
}
