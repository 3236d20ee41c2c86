import { FailsAnyway, killingTest } from './kill-mutations';

const SPEC = 'libs/orders/src/some.spec.ts';
const late = 'none of its tests ended within 60 s';

describe('the test that finds a seeded bug', () => {
  const ran: string[] = [];
  /** By the name of a bug, or by none: what fails. */
  const failing = (faults: Readonly<Record<string, string>>) => (name: string) => {
    ran.push(name);
    return Promise.resolve(faults[name]);
  };
  beforeEach(() => ran.splice(0));

  it('has to hold without the bug where others use the machine', async () => {
    const everywhere = failing({ bug: late, '': late });
    await expect(killingTest('bug', SPEC, everywhere, () => 2)).rejects.toThrow(
      new FailsAnyway(`${SPEC} fails without it, too: ${late}`),
    );
    expect(await killingTest('bug', SPEC, failing({ bug: late }), () => 2)).toBe(late);
    expect(ran).toEqual(['bug', '', 'bug', '']);
  });

  it('is run once on a machine of one’s own, and where it finds nothing', async () => {
    expect(await killingTest('bug', SPEC, failing({ bug: late }), () => 1)).toBe(late);
    expect(await killingTest('bug', SPEC, failing({}), () => 2)).toBeUndefined();
    expect(ran).toEqual(['bug', 'bug']);
  });
});
