import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { wait, type Clock } from './clock';
import type { CallPlan, FaultBox, Operation } from './faults';
import { Refusal } from './problem';

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const GARBAGE = '<html><body>upstream connect error {"id": "pay_';

/** Lets provider calls go wrong as the faults say, before or after they have had their effect. */
export class FaultyRoutes {
  readonly #held = new Map<FastifyReply, () => void>();
  #closed = false;

  constructor(
    private readonly faults: FaultBox,
    private readonly clock: Clock,
  ) {}

  handler(
    operation: Operation,
    handle: (request: FastifyRequest) => Promise<Answer>,
  ): RouteHandlerMethod {
    return async (request, reply) => {
      const plan = this.faults.planCall(operation);
      if (plan.latencyMs > 0) await wait(this.clock, plan.latencyMs);
      // A call that was still waiting when the sandbox stopped must not reach a closed ledger.
      if (this.#closed) return this.#hold(reply, 0);
      if (plan.misbehaviour === null) {
        const { status, body } = await handle(request);
        return reply.code(status).send(body);
      }
      if (plan.carriedOut) await handle(request).catch(ignoreRefusal);
      return this.#misbehave(plan, reply);
    };
  }

  /** Drops the connections that are being held, so that the server can stop. */
  close(): void {
    this.#closed = true;
    for (const drop of [...this.#held.values()]) drop();
  }

  #misbehave({ misbehaviour }: CallPlan, reply: FastifyReply): FastifyReply {
    const { retryAfterSeconds } = this.faults.current;
    switch (misbehaviour) {
      case 'error':
        throw new Refusal(500, 'internal_error', 'Something went wrong.');
      case 'rate_limit':
        reply.header('retry-after', String(retryAfterSeconds));
        throw new Refusal(429, 'rate_limited', 'Too many requests.');
      case 'refuse':
        throw new Refusal(422, 'refused', 'This is refused for good.');
      case 'malformed':
        return reply.code(200).type('application/json').send(GARBAGE);
      case 'timeout':
        return this.#hold(reply, this.faults.current.timeoutHoldMs);
      case null:
        return reply;
      default:
        return misbehaviour satisfies never;
    }
  }

  #hold(reply: FastifyReply, holdMs: number): FastifyReply {
    reply.hijack();
    const drop = (): void => {
      cancelTimer();
      this.#held.delete(reply);
      reply.raw.destroy();
    };
    const cancelTimer = this.clock.setTimer(drop, holdMs);
    this.#held.set(reply, drop);
    reply.raw.once('close', drop);
    return reply;
  }
}

/** The caller of a failing call does not learn that it would have been refused anyway. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof Refusal)) throw error;
}
