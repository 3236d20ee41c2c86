import { lastcall } from '../support/lastcall';

const refused = (env: Record<string, string> = {}) =>
  lastcall(undefined, ['orders', 'show', 'no-id'], { tty: true, shell: '| cat', env });

it('colours what it complains of on a terminal, also where its result goes into a pipe', async () => {
  const { code, stdout } = await refused();
  expect([code, stdout]).toEqual([
    2,
    expect.stringContaining('\u001b[31mError:\u001b[39m "no-id"'),
  ]);
});

it('does not where nobody wants colours', async () => {
  for (const [name, value] of [
    ['NO_COLOR', '1'],
    ['TERM', 'dumb'],
  ] as const) {
    const { code, stdout } = await refused({ [name]: value });
    expect([code, stdout]).toEqual([2, expect.stringMatching(/^Error: "no-id"/)]);
  }
});
