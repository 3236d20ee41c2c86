import { LastcallError, OPEN_ALARM_QUEUE, type OpenAlarmQueue } from '@app/orders';
import { type AlarmBoard, withTimeLimit } from '@app/timeout';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';

/** Where the controller serves it; the page's own addresses begin with it. */
const BASE_PATH = '/v1/ops/queues';
/** Counts and a page of alarms take milliseconds; what takes longer has no Redis behind it. */
const LIMIT_MS = 2_000;
const PASSED_ON = ['if-none-match', 'if-modified-since', 'accept-encoding', 'range'] as const;
const PASSED_BACK = ['content-type', 'cache-control', 'etag', 'last-modified', 'content-range'];

export interface BoardAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

interface OpenBoard {
  readonly server: FastifyInstance;
  readonly board: AlarmBoard;
}

/**
 * Bull-board over the alarms, to look at. It lives in a Fastify of its own that listens nowhere and
 * is made by the first request: before that it costs nothing, neither packages nor connections.
 * Only GET reaches it, whatever its page offers: alarms are mended by `lastcall timeouts`.
 */
@Injectable()
export class QueueBoard implements OnApplicationShutdown {
  #opening: Promise<OpenBoard> | undefined;

  constructor(@Inject(OPEN_ALARM_QUEUE) private readonly openQueue: OpenAlarmQueue) {}

  /** @throws {LastcallError} unavailable, when Redis does not answer */
  async get(
    url: string,
    asked: Readonly<Record<string, string | string[] | undefined>>,
  ): Promise<BoardAnswer> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    const { server } = await this.#opening;
    const headers = pick(asked, PASSED_ON);
    const answer = await withTimeLimit(
      server.inject({ method: 'GET', url, headers }),
      LIMIT_MS,
      'no answer',
    ).catch((cause: unknown) => {
      throw unavailable(cause);
    });
    const { statusCode: status, rawPayload: body } = answer;
    if (status === 404) throw notFound('The queue board has nothing at this address');
    if (status >= 500) {
      throw unavailable(new Error(answer.payload.slice(0, 200)), refusalIn(answer.payload));
    }
    if (status >= 400)
      throw new LastcallError('invalid_request', 'The queue board cannot read this');
    return { status, headers: pick(answer.headers, PASSED_BACK), body };
  }

  async onApplicationShutdown(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined);
    await opened?.server.close();
    await opened?.board.close();
  }

  async #open(): Promise<OpenBoard> {
    const { createBullBoard } = await import('@bull-board/api');
    const { BullMQAdapter } = await import('@bull-board/api/bullMQAdapter');
    const { FastifyAdapter } = await import('@bull-board/fastify');
    const { fastify } = await import('fastify');
    const board = this.openQueue();
    if (!board) throw notFound('The timer driver of this installation has no queue to show');
    const serverAdapter = new FastifyAdapter();
    const shown = board.queues as ConstructorParameters<typeof BullMQAdapter>[0][];
    createBullBoard({
      // All have one name: what tells them apart is where they are.
      queues: shown.map(
        (queue) =>
          new BullMQAdapter(queue, {
            readOnlyMode: true,
            ...(shown.length === 1 ? {} : { prefix: `${queue.opts.prefix} ` }),
          }),
      ),
      serverAdapter,
      options: { uiConfig: { boardTitle: 'lastcall alarms' } },
    });
    const server = fastify();
    await server.register(serverAdapter.registerPlugin(), { prefix: BASE_PATH });
    await server.ready();
    return { server, board };
  }
}

function notFound(message: string): LastcallError {
  return new LastcallError('not_found', message);
}

function unavailable(cause: unknown, refusal?: string): LastcallError {
  const message = refusal
    ? `Redis refuses what the queue board asks of it: ${refusal}`
    : 'Redis does not answer, and there are no alarms to show without it';
  return new LastcallError('unavailable', message, {}, { cause });
}

/** What Redis has answered begins with a code; of a connection that is away the library tells in words of its own. */
function refusalIn(payload: string): string | undefined {
  const code = '(?:ERR|NOPERM|NOAUTH|LOADING|OOM|MISCONF|MASTERDOWN|CLUSTERDOWN|BUSY)';
  return new RegExp(`"message":"(${code} [^"\\\\]{1,200})`).exec(payload)?.[1];
}

function pick(
  all: Readonly<Record<string, string | string[] | number | undefined>>,
  names: readonly string[],
): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => (all[name] === undefined ? [] : [[name, String(all[name])]])),
  );
}
