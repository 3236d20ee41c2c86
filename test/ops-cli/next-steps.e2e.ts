import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../support/cli-world';
import { insertOrders } from '../support/insert-orders';
import { lastcall } from '../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

const UNKNOWN = '0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f';
const BY = ['--reason', 'case 17', '--actor', 'eve'];

/** Whoever copies the line that is to be typed next has nothing to fill in that was typed before. */
describe('what lastcall says to do next', () => {
  let world: CliWorld;
  let orderId: string;
  let customer: string;

  beforeAll(async () => {
    world = await startCliWorld();
    const [order] = await insertOrders(world.sql, { count: 1, closesInMs: -60_000 });
    orderId = order?.id ?? '';
    customer = "o'hara";
    await world.rows('UPDATE orders SET customer_id = $1', [customer]);
  });
  afterAll(() => world?.close());

  const told = async (...args: string[]): Promise<{ code: number; stderr: string }> => {
    const { code, stderr } = await lastcall(world.config, args);
    return { code, stderr };
  };
  const saying = (code: number, text: string) => ({
    code,
    stderr: expect.stringContaining(text) as string,
  });

  it('names the order that was meant', async () => {
    const shown = saying(4, `Next:  lastcall orders show ${orderId} tells`);
    expect(await told('orders', 'extend', orderId, '--by', '1m', ...BY)).toEqual(shown);
    expect(await told('orders', 'cancel', orderId, '--yes', ...BY)).toEqual(shown);
    const refund = ['refunds', 'create', orderId, '--amount', '1', '--yes', ...BY];
    expect(await told(...refund)).toEqual(shown);
  });

  it('names the customer who was meant, as a shell takes it', async () => {
    expect(await told('customers', 'erase', customer, '--yes', ...BY)).toEqual(
      saying(4, String.raw`Next:  lastcall orders list --customer 'o'\''hara' shows them`),
    );
    const { code, stderr } = await told('customers', 'export', 'nobody');
    expect({ code, stderr }).toEqual(saying(3, 'the subject of the token'));
    expect(stderr).not.toMatch(/SUB|Next:.*nobody/);
  });

  it('says of one subject that it has no held deadline, and of several that none has', async () => {
    const release = (...subjects: string[]) => told('timeouts', 'release', ...subjects, ...BY);
    expect(await release('ann')).toEqual(saying(3, 'There is no held deadline of ann\n'));
    expect(await release('ann', 'bob')).toEqual(saying(3, 'None of these 2 subjects has a held'));
  });

  it('leads to the ids of sessions where one is none', async () => {
    expect(await told('console', 'revoke', 'nope')).toEqual(
      saying(2, '"nope" is not the id of a session\nNext:  lastcall console sessions'),
    );
  });

  it.each(['doctor extra', 'stats x', 'orders list open'])(
    'says of a command that it takes no arguments: %s',
    async (command) => {
      const words = command.split(' ');
      const [name, extra] = [words.slice(0, -1).join(' '), words.at(-1)];
      expect(await told(...words)).toEqual({
        code: 2,
        stderr: `Error: "lastcall ${name}" takes no arguments, and "${extra}" is one\nNext:  lastcall ${name} --help\n`,
      });
    },
  );

  it('says in the help of reconcile that it needs one of two flags', async () => {
    const { stdout } = await lastcall(undefined, ['reconcile', '--help'], { alone: true });
    expect(stdout.replace(/\s+/g, ' ')).toContain('Needs --since or --resume, one of the two.');
    expect(await told('reconcile')).toEqual(saying(2, 'Exactly one of'));
  });

  it('leaves ids of others open, which nobody has typed', async () => {
    const settle = ['payments', 'settle', UNKNOWN, '--refund', '--yes', ...BY];
    expect((await told(...settle)).stderr).toMatch(/^Next: {2}lastcall payments list/m);
  });
});
