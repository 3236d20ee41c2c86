import 'reflect-metadata';
import { LastcallError } from '../../libs/orders/src/targets';
import { type NumberedShop, openNumberedShop } from '../support/open-numbered-shop';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy';
import { post, type Posted } from '../support/ledger-provider';

const SQLSTATE_OF_LOCKS = '55P03';
const ANN = { actor: 'ann', reason: 'nobody knows what it was for' };

const ignored = (eventId: string): Posted => post({ eventId, type: 'ignored' });
const codeOf = (error: unknown): string =>
  error instanceof LastcallError ? error.code : `of the database: ${String(error)}`;
const outcomeOf = (work: Promise<unknown>): Promise<string> => work.then(() => 'done', codeOf);

describe('what close targets throw where the database fails', () => {
  let proxy: TcpProxy;
  let shop: NumberedShop;
  beforeAll(async () => {
    const connectsBy = async (url: string) => (proxy = await startTcpProxy(url)).url;
    shop = await openNumberedShop({ connectsBy });
  });
  afterAll(async () => {
    await shop?.close();
    await proxy?.close();
  });

  const stored = async () =>
    Number((await shop.first('SELECT count(*) AS n FROM lastcall.target_webhooks'))?.n);

  it('is unavailable while that is away, for each of a burst, and nothing is stored', async () => {
    await proxy.cut();
    const burst = Array.from({ length: 300 }, (_, n) => shop.receive(ignored(`away-${n}`)));
    const outcomes = new Set(await Promise.all(burst.map(outcomeOf)));
    const others = [shop.targets.waiting(), shop.targets.settle('webhook:1', 'dismiss', ANN)];
    for (const one of await Promise.all(others.map(outcomeOf))) outcomes.add(one);
    const error: unknown = await shop.receive(ignored('one')).catch((why: unknown) => why);
    await proxy.restore();
    expect([...outcomes]).toEqual(['unavailable']);
    expect(String((error as Error).cause)).toMatch(/ECONN|Connection terminated/);
    expect(await stored()).toBe(0);
    expect(await outcomeOf(shop.receive(ignored('one')))).toBe('done');
  });

  it('is busy while somebody has the inbox for longer than that may take', async () => {
    await shop.client.query('BEGIN; LOCK TABLE lastcall.target_webhooks');
    const error: unknown = await shop.receive(ignored('locked')).catch((why: unknown) => why);
    await shop.client.query('COMMIT');
    expect(codeOf(error)).toBe('busy');
    expect((error as Error).cause).toMatchObject({ code: SQLSTATE_OF_LOCKS });
    expect(await outcomeOf(shop.receive(ignored('locked')))).toBe('done');
  });
});

describe('a webhook with a character that the database does not have', () => {
  let shop: NumberedShop;
  beforeAll(async () => (shop = await openNumberedShop({ encoding: 'LATIN1' })));
  afterAll(() => shop?.close());

  it('is refused as an invalid request, and its neighbours are stored', async () => {
    const all = ['one', '中', 'two'].map((eventId) => shop.receive(ignored(eventId)));
    const outcomes = await Promise.all(all.map(outcomeOf));
    expect(outcomes).toEqual(['done', 'invalid_request', 'done']);
  });
});
