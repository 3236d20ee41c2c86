import { Client } from 'pg';
import { openWorld, type World } from '../../../../test/support/world';
import { RewindEvents } from './rewind-events';
import { VerifyDeadlines } from './verify-deadlines';

const MINUTE_MS = 60_000;

interface Sent {
  readonly text: string;
  /** How long the client waits; where it says nothing, 16 s. */
  readonly query_timeout?: number;
}

describe('What reads a whole installation is given the time that millions of orders take', () => {
  let world: World;
  beforeAll(async () => (world = await openWorld()));
  afterAll(() => world?.close());
  afterEach(() => jest.restoreAllMocks());

  /** The statements of `work` that match, and how long Postgres lets them run, in milliseconds. */
  async function limits(
    work: () => Promise<unknown>,
    ofThose: RegExp,
  ): Promise<{ atClient: number[]; atServer: number }> {
    const query = jest.spyOn(Client.prototype, 'query');
    await work();
    const sent = query.mock.calls.map(([one]) => one as unknown as Sent);
    const long = sent.filter(({ text }) => ofThose.test(text));
    const [, said] = sent
      .map(({ text }) => /^SET LOCAL statement_timeout = (\d+)$/.exec(text))
      .find(Boolean) ?? [undefined, '0'];
    return {
      atClient: long.map(({ query_timeout: waits = 0 }) => waits),
      atServer: Number(said),
    };
  }

  it.each([
    ['verified deadlines', () => new VerifyDeadlines(world.dataSource).run(), /\bdeadlines\b/, 2],
    [
      'rewound events',
      () => new RewindEvents(world.dataSource).rewind({ actor: 'olga', reason: 'case 9' }),
      /\brewind_relay\(/,
      10,
    ],
  ])('as are %s, by Postgres and by the client', async (_what, work, ofThose, minutes) => {
    const { atClient, atServer } = await limits(work, ofThose);
    expect(atServer).toBe(minutes * MINUTE_MS);
    expect(atClient.length).toBeGreaterThan(0);
    expect(Math.min(...atClient)).toBeGreaterThan(atServer);
  });
});
