import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { TargetRefunds } from '../../libs/orders/src/targets/target-refunds';
import { TargetSettling } from '../../libs/orders/src/targets/target-settling';
import { EXPIRED } from '../support/numbered-shop';
import { type NumberedShop, openNumberedShop } from '../support/open-numbered-shop';
import { until } from '../support/until';

const bug = new TypeError("Cannot read properties of undefined (reading 'amount')");

describe('close targets, when what follows the commit fails for all', () => {
  let shop: NumberedShop;
  beforeAll(async () => (shop = await openNumberedShop()));
  afterAll(() => shop?.close());
  afterEach(() => jest.restoreAllMocks());

  const logged = () => {
    const errors = jest.spyOn(Logger.prototype, 'error');
    return () => errors.mock.calls.map(([text]) => String(text));
  };
  const standsStill = (kind: RegExp) => [
    expect.stringMatching(new RegExp(`(?:${kind.source}).* fails for all .*reading 'amount'`)),
  ];
  const number = async (sql: string, params: readonly unknown[] = []) =>
    Number((await shop.first(`SELECT count(*) AS n FROM ${sql}`, params))?.n);
  const makeDue = () =>
    shop.client.query(
      `UPDATE lastcall.deadlines SET due_at = now() WHERE due_at > now() + interval '500 ms'`,
    );

  it('is told once of 200 orders behind the fence, and all close once it is mended', async () => {
    const errors = logged();
    const settling = jest.spyOn(TargetSettling.prototype, 'settle').mockRejectedValue(bug);
    for (let n = 0; n < 200; n++) await shop.place(0, [`p-${n}`]);
    await until('the kind stands still', () => errors().length > 0);
    expect(errors()).toEqual(standsStill(/asking|closing|order/));
    settling.mockRestore();
    await until('all are closed', async () => {
      await makeDue();
      return (await number('orders WHERE state = $1', [EXPIRED])) === 200;
    });
    expect(errors()).toHaveLength(1);
  });

  it('is told once of twenty refunds, and all are made once it is mended', async () => {
    const errors = logged();
    const settle = jest.spyOn(TargetRefunds.prototype, 'settle').mockRejectedValue(bug);
    for (let n = 0; n < 20; n++)
      await shop.receive(shop.acme.pay(`p-${n}`, new Date(), { late: true }));
    await until('the kind stands still', () => errors().length > 0);
    expect(errors()).toEqual(standsStill(/refund/));
    settle.mockRestore();
    await until('all are made', async () => {
      await makeDue();
      return (await number(`lastcall.target_refunds WHERE status = 'succeeded'`)) === 20;
    });
    expect(errors()).toHaveLength(1);
  });
});
