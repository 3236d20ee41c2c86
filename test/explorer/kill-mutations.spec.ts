import type { Exploration } from './exploration';
import { FailsAnyway, killingProgram, killingTest } from './kill-mutations';
import { NO_BUG } from './seeded-runs';

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

describe('the program that finds a seeded bug', () => {
  const explored = (broken: string | null, path: string | null = null): Exploration => ({
    ...{ seed: 3, programs: 7, tookMs: 1, path, broken },
  });
  const asked: unknown[] = [];
  const by =
    (faults: Readonly<Record<string, string>>) =>
    (name: string, ...how: unknown[]) => {
      asked.push([name, ...how]);
      const broken = faults[name] ?? null;
      return Promise.resolve(explored(broken, broken === null ? null : '6'));
    };
  beforeEach(() => asked.splice(0));

  it('holds without the bug', async () => {
    const found = await killingProgram('bug', 3, 'crowd', by({ bug: 'two are open\nsteps' }));
    expect(found).toEqual({ where: 'seed 3, program 7 of a crowd', fault: 'two are open' });
    expect(asked).toEqual([
      ['bug', 3, ['60', '--crowds']],
      [NO_BUG, 3, ['1', '--crowds', '--path', '6']],
    ]);
  });

  it('finds nothing where it breaks a promise anyway', async () => {
    const everywhere = by({ bug: 'savepoint', [NO_BUG]: 'savepoint' });
    await expect(killingProgram('bug', 3, 'few', everywhere)).rejects.toThrow(
      new FailsAnyway('seed 3, program 7 breaks without it, too: savepoint'),
    );
    expect(await killingProgram('bug', 3, 'few', by({}))).toBeUndefined();
  });
});
