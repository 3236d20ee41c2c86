import { Rig } from './rig.mjs';

it('tells the same story whatever a shop has set in its shell', async () => {
  const own = { LATE_PAYMENT: 'hold', MAX_OPEN_ORDERS: '1', ROLES: 'api', AUTH_JWKS_URL: 'x' };
  const before = { ...process.env };
  Object.assign(process.env, own);
  const rig = new Rig();
  try {
    expect(Object.keys(rig.environment)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(Object.keys(own).join('|'))]),
    );
    expect(rig.environment).toMatchObject({ PATH: process.env.PATH, RATE_LIMIT: 'off' });
  } finally {
    for (const name of Object.keys(own)) delete process.env[name];
    Object.assign(process.env, before);
    await rig.close();
  }
});
