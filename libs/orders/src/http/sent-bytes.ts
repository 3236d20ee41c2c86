import { Injectable, Logger } from '@nestjs/common';
import { type AbstractHttpAdapter, HttpAdapterHost } from '@nestjs/core';

/**
 * In an application that serves webhooks: says at boot where that keeps no bytes of what is sent. It
 * refuses nothing, as a parser of the host's own may keep them all the same.
 */
@Injectable()
export class AsksForBytes {
  readonly #logger = new Logger('OrdersHttpModule');

  constructor(host: HttpAdapterHost) {
    const { httpAdapter: adapter, init$: comes } = host as Partial<HttpAdapterHost>;
    if (adapter) this.#hear(adapter);
    // A testing module has its adapter only after all providers; early Nest 11 does not tell when.
    else comes?.subscribe(() => this.#hear(host.httpAdapter));
  }

  /** What an application keeps is told to nobody but its adapter, with the wish for Nest's parsers. */
  #hear(adapter: AbstractHttpAdapter | null): void {
    // There is none where nothing is served.
    if (!adapter) return;
    const register = adapter.registerParserMiddleware.bind(adapter);
    adapter.registerParserMiddleware = (prefix, keepsBytes) => {
      if (!keepsBytes) this.#logger.error(NO_BYTES);
      return register(prefix, keepsBytes) as unknown;
    };
  }
}

const NO_BYTES =
  'Webhooks need the bytes that were sent, and this application keeps none: each is answered with 500. ' +
  'NestFactory.create(App, { rawBody: true }) keeps them, unless a parser of your own does';
