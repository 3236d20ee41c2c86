import type { OrderView } from '@app/orders';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../support/cli-world';
import { insertOrders } from '../support/insert-orders';
import { lastcall } from '../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

/** Far more than a pipe holds (64 KiB). */
const ORDERS = 1_000;

describe('lastcall into a pipe', () => {
  let world: CliWorld;

  beforeAll(async () => {
    world = await startCliWorld();
    await insertOrders(world.sql, { count: ORDERS, closesInMs: 600_000 });
  });
  afterAll(() => world?.close());

  const list = (shell: string) =>
    lastcall(world.config, ['orders', 'list', '--limit', String(ORDERS), '--json'], { shell });

  it('says all of it', async () => {
    const { code, stdout, stderr } = await list('| cat');
    expect([code, stderr]).toEqual([0, '']);
    expect((JSON.parse(stdout) as { items: OrderView[] }).items).toHaveLength(ORDERS);
  });

  it.each([
    ['| head -n 1', '{\n'],
    ['2>&1 | head -n 1', '{\n'],
    ['| true', ''],
    ['2>&1 | true', ''],
  ])('ends quietly when nobody reads on: %s', async (shell, stdout) => {
    expect(await list(shell)).toEqual({ code: 0, stdout, stderr: '' });
  });

  it('says so where its result cannot be written, as on a full disk', async () => {
    const { code, stderr } = await list('> /dev/full');
    expect(stderr).toBe(
      [
        'Error: The result could not be written',
        'Why:   ENOSPC: no space left on device, write',
        'Next:  the command has gone on to its end; see what it has changed before it is run again\n',
      ].join('\n'),
    );
    expect(code).toBe(6);
  });

  it('goes on to its end where what it says beside its result cannot be written', async () => {
    const change = [
      'products',
      'set',
      'TEA',
      '--name',
      'Tea',
      '--price',
      '500',
      '--currency',
      'EUR',
    ];
    const { code, stdout } = await lastcall(world.config, change, { shell: '2> /dev/full' });
    expect([code, stdout]).toEqual([0, expect.stringContaining('TEA')]);
  });

  it('keeps the exit code of a failure that nobody hears of', async () => {
    const shell = '2>&1 | true';
    expect((await lastcall(world.config, ['orders', 'show', 'no-id'], { shell })).code).toBe(2);
  });

  it('ends the watching of which nobody reads on', async () => {
    const { code, stdout } = await lastcall(world.config, ['stats', '--watch', '--interval', '1'], {
      shell: '| head -n 1',
    });
    expect([code, stdout.split('\n').length]).toEqual([0, 2]);
  });
});
