import dns from 'node:dns';
import { promisify } from 'node:util';
import { until } from '../../../../test/support/until';
import { sharedLookup } from './shared-lookup';

const SILENT = ['first.silent.invalid', 'second.silent.invalid'] as const;

/** Asked for, and not answered yet. */
const open = new Map<string, (error: Error) => void>();
const asked: string[] = [];
const shared = promisify(sharedLookup(() => undefined));
const lookUp = (hostname: string) => shared(hostname, { all: true });

beforeEach(() => {
  const real = dns.lookup as (...args: unknown[]) => void;
  jest.spyOn(dns, 'lookup').mockImplementation((hostname: string, ...rest: unknown[]) => {
    asked.push(hostname);
    const answered = rest.at(-1) as (error: Error) => void;
    if (hostname.endsWith('.silent.invalid')) open.set(hostname, answered);
    else real(hostname, ...rest);
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
  giveUp(SILENT[0]);
  await until('the second is asked for', () => open.has(SILENT[1]));
  expect(asked).toEqual(SILENT);
  giveUp(SILENT[1]);
  await Promise.all(failing);
  expect(await healthy).toEqual(addresses);
  expect(asked).toEqual([...SILENT, 'localhost']);
});

it('goes to the addresses of before while another name is silent, and asks as soon as it may', async () => {
  expect(await lookUp('localhost')).toEqual(addresses);
  const failing = SILENT.map((name) => expect(lookUp(name)).rejects.toThrow(`no ${name}`));
  expect(await lookUp('localhost')).toEqual(addresses);
  expect(asked).toEqual(['localhost', SILENT[0]]);
  giveUp(SILENT[0]);
  // Before the other one, which has never been answered.
  await until('the second is asked for', () => open.has(SILENT[1]));
  expect(asked).toEqual(['localhost', SILENT[0], 'localhost', SILENT[1]]);
  giveUp(SILENT[1]);
  await Promise.all(failing);
});
