import { describeProvider, type SentWebhook } from '@lastcall/orders/testing';
import { expect } from 'expect';
import { after, before, describe, it } from 'node:test';
import { type Notice, Till } from './till';

/** The till, the buyer and the bank behind it. Run it by node:test, Jest or Vitest. */
describeProvider(
  'the till',
  async () => {
    const posted: Notice[] = [];
    const provider = new Till((notice) => posted.push(notice));
    const unreachable = new Till(() => undefined);
    unreachable.isAway = true;
    return {
      ...{ provider, unreachable },
      buyerPays: async (id) => void provider.pay(id),
      failRefunds: async (fail) => void (provider.failsRefunds = fail),
      // This one tells at once: what matches has been posted already.
      webhook: async (matches): Promise<SentWebhook> => {
        const found = posted.findLast(({ body }) => matches(body));
        if (!found) throw new Error('the till has posted no such webhook');
        const { type, body, headers } = found;
        return { type, rawBody: Buffer.from(body), headers };
      },
      close: async () => undefined,
    };
  },
  { describe, it, beforeAll: before, afterAll: after, expect },
);
