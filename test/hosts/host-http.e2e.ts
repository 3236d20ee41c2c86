import 'reflect-metadata';
import { DATABASE, hostOptionsAsConfig, migrate, OrdersModule, seedProducts } from '@app/orders';
import { type HttpPart, OrdersHttpModule } from '@app/orders/http';
import {
  type CanActivate,
  type ExecutionContext,
  Injectable,
  Module,
  UnauthorizedException,
} from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { LedgerProvider } from '../support/ledger-provider';

interface ShopRequest {
  readonly headers: Record<string, string | undefined>;
  member?: string;
}

@Injectable()
class Members {
  readonly #byCookie: Record<string, string> = { 'sid=1': 'ann', 'sid=2': 'bob', 'sid=3': '' };
  find = (cookie = ''): string | undefined => this.#byCookie[cookie];
}

@Module({ providers: [Members], exports: [Members] })
class MembersModule {}

/** How the shop has always known its members; what it throws is its own. */
@Injectable()
class MemberGuard implements CanActivate {
  constructor(private readonly members: Members) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<ShopRequest>();
    const member = this.members.find(request.headers.cookie);
    if (member === undefined) throw new UnauthorizedException('Log in first');
    request.member = member;
    return true;
  }
}

const sencha = { items: [{ sku: 'TEA-SENCHA', quantity: 1 }] };

describe('the routes of orders in a shop with a guard of its own', () => {
  const acme = new LedgerProvider('acme');
  const pear = new LedgerProvider('Pear_Pay.2');
  let database: TestDatabase;
  let host: NestFastifyApplication;

  beforeAll(async () => {
    database = await createTestDatabase();
    const options = {
      postgres: { url: database.url },
      payments: [acme, pear],
      windows: { ship: 'off' },
    } as const;
    await migrate(hostOptionsAsConfig(options));
    const module = await Test.createTestingModule({
      imports: [
        OrdersModule.forRootAsync({ role: 'arm', useFactory: () => options }),
        OrdersHttpModule.forRoot({
          imports: [MembersModule],
          guard: MemberGuard,
          caller: ({ member }: ShopRequest) =>
            member === 'bob' ? { subject: 'bob', scopes: ['merchant'] } : { subject: member ?? '' },
          parts: ['storefront', 'webhooks', 'ops'],
        }),
      ],
    }).compile();
    host = module.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), {
      rawBody: true,
      logger: false,
    });
    host.setGlobalPrefix('shop');
    await host.init();
    await seedProducts(host.get<DataSource>(DATABASE));
  });

  afterAll(async () => {
    await host.close();
    await database.drop();
  });

  async function call(
    method: 'GET' | 'POST',
    path: string,
    { cookie = 'sid=1', body, ...headers }: Record<string, unknown> = {},
  ) {
    const answer = await host.inject({
      method,
      url: `/shop/v1${path}`,
      headers: { ...(cookie ? { cookie } : {}), ...headers } as Record<string, string>,
      ...(body ? { payload: body as object | string } : {}),
    });
    const { statusCode: status, headers: told, body: text } = answer;
    return { status, told, body: (text ? JSON.parse(text) : null) as Record<string, unknown> };
  }

  it('places, reads, lists and cancels orders for whom the guard has let in', async () => {
    const placed = await call('POST', '/orders', { body: sencha, 'idempotency-key': 'one' });
    expect(placed).toMatchObject({ status: 201, body: { customerId: 'ann' } });
    const id = String(placed.body.id);
    expect(placed.told.location).toBe(`/shop/v1/orders/${id}`);
    const read = await call('GET', `/orders/${id}`);
    expect(read).toMatchObject({ status: 200, body: { id, status: 'pending_payment' } });
    const again = await call('GET', `/orders/${id}`, { 'if-none-match': read.told.etag });
    expect(again).toMatchObject({ status: 304, body: null });
    const paying = await call('POST', `/orders/${id}/payments`);
    expect(paying).toMatchObject({ status: 201, body: { provider: 'acme' } });
    expect(paying.told.location).toBe(`/shop/v1/orders/${id}`);
    const second = await call('POST', '/orders', { body: sencha, 'idempotency-key': 'two' });
    const canceled = await call('POST', `/orders/${String(second.body.id)}/cancel`);
    expect(canceled).toMatchObject({ status: 200, body: { status: 'closed' } });
    expect((await call('GET', '/orders')).body.items).toHaveLength(2);
  });

  it('shows products to everybody, and orders to nobody whom the guard refuses', async () => {
    expect((await call('GET', '/products', { cookie: '' })).status).toBe(200);
    const refused = await call('GET', '/orders', { cookie: '' });
    expect(refused).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
    expect(refused.body.detail).toBe('Log in first');
    expect(refused.told['content-type']).toContain('application/problem+json');
  });

  it('takes a customer neither for another nor for a merchant', async () => {
    const placed = await call('POST', '/orders', { body: sencha, 'idempotency-key': 'three' });
    const id = String(placed.body.id);
    const shipping = await call('POST', `/orders/${id}/shipment`);
    expect(shipping).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    const asMerchant = await call('POST', `/orders/${id}/shipment`, { cookie: 'sid=2' });
    expect(asMerchant).toMatchObject({ status: 409, body: { code: 'order_not_shippable' } });
    const asBob = await call('GET', `/orders/${id}`, { cookie: 'sid=2' });
    expect(asBob).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    const found = await call('GET', '/ops/orders?customer=ann', { cookie: 'sid=2' });
    expect(found).toMatchObject({ status: 200, body: { items: [{}, {}, {}] } });
  });

  it('serves nobody whom the host cannot name', async () => {
    const answer = await call('GET', '/orders', { cookie: 'sid=3' });
    expect(answer).toMatchObject({ status: 500, body: { code: 'internal_error' } });
  });

  it('gives the provider the bytes of a webhook, as they were sent', async () => {
    const read = jest.spyOn(acme, 'readWebhook');
    const bytes = '{ "type":"ignored",  "eventId": "1" }';
    const sent = { cookie: '', body: bytes, 'content-type': 'application/json' };
    expect(await call('POST', '/webhooks/acme', sent)).toMatchObject({ body: { stored: true } });
    expect(read.mock.calls[0]?.[0].toString()).toBe(bytes);
    const unknown = await call('POST', '/webhooks/nobody', sent);
    expect(unknown).toMatchObject({ status: 404, body: { code: 'unknown_provider' } });
  });

  it('lets the buyer choose a provider of whatever name the host may give it', async () => {
    const placed = await call('POST', '/orders', { body: sencha, 'idempotency-key': 'pear' });
    const choose = (provider: string) =>
      call('POST', `/orders/${String(placed.body.id)}/payments`, { body: { provider } });
    expect(await choose('Pear_Pay.2')).toMatchObject({
      ...{ status: 201, body: { provider: 'Pear_Pay.2' } },
    });
    expect(await choose('pear pay')).toMatchObject({
      ...{ status: 400, body: { code: 'invalid_request' } },
    });
    await call('POST', `/orders/${String(placed.body.id)}/cancel`);
  });

  it('says at once what it cannot be set up with', () => {
    const caller = () => null;
    const parts = ['storefront', 'console'] as HttpPart[];
    expect(() => OrdersHttpModule.forRoot({ caller, parts })).toThrow(
      'OrdersHttpModule: there is no part "console"; there are: storefront, webhooks, ops',
    );
    expect(() => OrdersHttpModule.forRoot({ caller: undefined as unknown as () => null })).toThrow(
      'OrdersHttpModule: `caller` must be a function',
    );
  });
});
