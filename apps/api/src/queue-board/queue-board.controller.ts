import { Scope } from '@app/orders/http';
import { Controller, Get, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TOKEN_AS_PASSWORD } from '../auth/token-as-password';
import { QueueBoard } from './queue-board';

/** From where the page loads, nothing else is: no fonts of others, no frame around it. */
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";

/** Passes what a browser asks for on to the board. GET alone: it is there to look at. */
@ApiExcludeController()
@Controller('v1/ops/queues')
export class QueueBoardController {
  constructor(private readonly board: QueueBoard) {}

  @Get()
  @Scope('ops:read')
  @RouteConfig(TOKEN_AS_PASSWORD)
  front(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.#show(request, reply);
  }

  @Get('*')
  @Scope('ops:read')
  @RouteConfig(TOKEN_AS_PASSWORD)
  rest(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.#show(request, reply);
  }

  async #show(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { status, headers, body } = await this.board.get(request.url, request.headers);
    await reply
      .code(status)
      .headers({ ...headers, 'content-security-policy': POLICY })
      .send(body);
  }
}
