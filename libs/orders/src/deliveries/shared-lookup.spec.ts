import dns from 'node:dns';
import { promisify } from 'node:util';
import { until } from '../../../../test/support/until';

const SILENT = ['first.silent.invalid', 'second.silent.invalid'];

/** Asked for, and not answered yet. */
const open = new Map<string, (error: Error) => void>();
const asked: string[] = [];
let lookUp: (hostname: string) => Promise<unknown>;

beforeEach(async () => {
  const real = dns.lookup as (...args: unknown[]) => void;
  jest.spyOn(dns, 'lookup').mockImplementation(((hostname: string, ...rest: unknown[]) => {
    asked.push(hostname);
    const answered = rest.at(-1) as (error: Error) => void;
    if (hostname.endsWith('.silent.invalid')) open.set(hostname, answered);
    else real(hostname, ...rest);
  }) as never);
  // Of a process of its own: it knows no name yet.
  await jest.isolateModulesAsync(async () => {
    const { sharedLookup } = await import('./shared-lookup');
    const shared = promisify(sharedLookup(() => undefined));
    lookUp = (hostname) => shared(hostname, { all: true });
  });
});
afterEach(() => {
  open.clear();
  asked.length = 0;
  jest.restoreAllMocks();
});

const giveUp = (hostname: string): void => open.get(hostname)?.(new Error(`no ${hostname}`));
const addresses = expect.arrayContaining([expect.objectContaining({ address: '127.0.0.1' })]);

it('asks for one name at a time, so that names of others than endpoints are always looked up', async () => {
  const failing = SILENT.map((name) => expect(lookUp(name)).rejects.toThrow(`no ${name}`));
  const healthy = lookUp('localhost');
  expect(asked).toEqual(SILENT.slice(0, 1));
  giveUp(SILENT[0] as string);
  await until('the second is asked for', () => open.has(SILENT[1] as string));
  expect(asked).toEqual(SILENT);
  giveUp(SILENT[1] as string);
  await Promise.all(failing);
  expect(await healthy).toEqual(addresses);
  expect(asked).toEqual([...SILENT, 'localhost']);
});

it('goes to the addresses of before while another name is silent, and asks as soon as it may', async () => {
  expect(await lookUp('localhost')).toEqual(addresses);
  const failing = SILENT.map((name) => expect(lookUp(name)).rejects.toThrow(`no ${name}`));
  expect(await lookUp('localhost')).toEqual(addresses);
  expect(asked).toEqual(['localhost', SILENT[0]]);
  giveUp(SILENT[0] as string);
  // Before the other one, which has never been answered.
  await until('the second is asked for', () => open.has(SILENT[1] as string));
  expect(asked).toEqual(['localhost', SILENT[0], 'localhost', SILENT[1]]);
  giveUp(SILENT[1] as string);
  await Promise.all(failing);
});
