import { Public } from '@app/orders/http';
import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { WebAssets } from './web-assets';

/** Scripts and styles of the pages. Their names change with what is in them: kept for good. */
@ApiExcludeController()
@Controller('assets')
export class AssetsController {
  constructor(private readonly assets: WebAssets) {}

  @Get(':name')
  @Public()
  async send(@Param('name') name: string, @Res() reply: FastifyReply): Promise<void> {
    const { type, body } = this.assets.file(name);
    await reply
      .type(type)
      .header('cache-control', 'public, max-age=31536000, immutable')
      .send(body);
  }
}
