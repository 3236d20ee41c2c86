import 'reflect-metadata';
import { AmbiguousDeadlineHandlerError, DeadlineHandler, type HandlesDue } from '../public';
import { queryRows } from '../database/query-rows';
import { hostApps, warnedOf } from '../../../../test/support/host-apps';

@DeadlineHandler('trial-end')
class EndTrials implements HandlesDue {
  handle = () => Promise.resolve({ changed: 0 });
}

/** A deadline of a kind. */
const WAITS = `INSERT INTO deadlines (kind, due_at, subject_id, version)
  VALUES ($1, now() + interval '1 day', gen_random_uuid(), 1)`;

describe('a handler of a host, as it starts', () => {
  const { start, beside } = hostApps();

  it.each([0, -1, 1.5, NaN, Infinity, '50'])('is refused with %p as its maxBatch', async (size) => {
    @DeadlineHandler('sized', { maxBatch: size as number })
    class Sized implements HandlesDue {
      handle = () => Promise.resolve({ changed: 0 });
    }
    await expect(start([Sized], {})).rejects.toThrow(
      `@DeadlineHandler("sized") of Sized: \`maxBatch\` must be a whole number of 1 or more, not ${size}`,
    );
  });

  it.each(['', undefined, 7, 'k'.repeat(501), 'a\0b'])(
    'is refused with %p as its kind',
    async (kind) => {
      @DeadlineHandler(kind as string)
      class Unnamed implements HandlesDue {
        handle = () => Promise.resolve({ changed: 0 });
      }
      await expect(start([Unnamed], {})).rejects.toThrow(
        `@DeadlineHandler(${JSON.stringify(kind)}) of Unnamed: its kind must be a text of 1 to 500 bytes`,
      );
    },
  );

  it('is refused without a method of that name', async () => {
    class Idle {
      handel = () => Promise.resolve({ changed: 0 });
    }
    DeadlineHandler('idle')(Idle as never);
    const module = await start([Idle], {});
    await expect(module.init()).rejects.toThrow(
      '@DeadlineHandler("idle") of Idle: it must have a method `handle(due, tx)`',
    );
  });

  it('is refused beside another of its kind, and both are named', async () => {
    @DeadlineHandler('trial-end')
    class EndThem extends EndTrials {}
    const module = start([EndTrials, EndThem], {});
    await expect(module).rejects.toBeInstanceOf(AmbiguousDeadlineHandlerError);
    await expect(module).rejects.toThrow(
      'Two handlers for deadlines of kind "trial-end". Keep one @DeadlineHandler("trial-end") of EndTrials, EndThem.',
    );
  });

  it('that a brake covers and nobody has is warned of', async () => {
    const brake = { kinds: ['trial-end', 'trial-edn'] };
    const said = await warnedOf(async () => {
      await start([EndTrials], { brake });
      await start([EndTrials], { brake, role: 'arm' });
    });
    expect(said).toEqual([
      'The brake covers deadlines of kind "trial-edn", and nobody here handles them: ' +
        'mark a provider with @DeadlineHandler("trial-edn"), unless another service does',
    ]);
  });

  it('of a TimeoutModule that is not there is warned of, once for all that are', async () => {
    @DeadlineHandler('trial-end', { timeouts: 'trails' })
    class EndTrails extends EndTrials {}
    const said = await warnedOf(async () => {
      for (const role of ['ring', 'arm'] as const) await start([EndTrails, EndTrials], { role });
    });
    const words =
      'EndTrails is for a TimeoutModule of the name "trails", and this application has none: it handles nothing. ' +
      'Give that name to TimeoutModule.forRoot, or leave `timeouts` out for the one without a name';
    expect(said).toEqual([words]);
  });

  it('that is missing for a kind is warned of, also where there is none at all', async () => {
    await beside((arming) => queryRows(arming, WAITS, ['trial-edn']));
    class NoHandler {}
    const said = await warnedOf(async () => {
      for (const provider of [NoHandler, EndTrials]) await (await start([provider], {})).init();
    });
    const words =
      'Deadlines of kind "trial-edn" wait, and nobody here handles them: mark a provider with ' +
      '@DeadlineHandler("trial-edn"), unless another service does';
    expect(said.filter((text) => text.includes('trial-edn'))).toEqual([words, words]);
  });

  it('cannot be for kinds of orders that are beside, of which nothing is said', async () => {
    await beside(async (arming) => {
      await queryRows(arming, WAITS, ['shipment']);
      const said = async (): Promise<number> => {
        const all = await warnedOf(async () => (await start([EndTrials], {})).init());
        return all.filter((text) => text.includes('"shipment"')).length;
      };
      // Without orders it is a host's own.
      expect(await said()).toBe(1);
      await queryRows(arming, 'CREATE TABLE stock_folding ()');
      expect(await said()).toBe(0);
      await queryRows(arming, 'DROP TABLE stock_folding');
    });
  });
});
