import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { DataSource } from 'typeorm';
import { NoopLock } from '../locks/noop.lock';
import { silentTelemetry } from '../telemetry';
import { TRUSTED_ABILITIES } from '../testing/trusted-abilities';
import { checkOptions } from './check-options';
import { migrateTimeouts } from './migrate';
import type { TimeoutModuleOptions } from './timeout-options';
import { TimeoutModule } from './timeout.module';

const postgres = { url: 'postgres://shop@127.0.0.1/shop' };
const go = async (): Promise<void> => undefined;
const own = {
  name: 'mine',
  abilities: TRUSTED_ABILITIES,
  start: go,
  stop: go,
  arm: go,
  disarm: go,
  survey: go,
};
const check = (given: unknown) => () => checkOptions(given as TimeoutModuleOptions);

describe('the options of TimeoutModule', () => {
  it('are taken as their types say', () => {
    const redis = new Redis({ lazyConnect: true });
    const dataSource = new DataSource({ type: 'postgres' });
    const taken: TimeoutModuleOptions[] = [
      { postgres },
      { postgres: { dataSource }, redis, role: 'arm', migrate: false },
      { postgres: { pool: { options: {} } }, redis: 'redis://127.0.0.1', sweepIntervalMs: 500 },
      { postgres, redis: { host: '127.0.0.1' }, schema: 'mine', driver: 'postgres' },
      ...[{ host: 'h' }, { path: '/redis.sock' }, { sentinels: [], name: 'shop' }].map((place) => ({
        ...{ postgres, redis: { ...place, url: 'redis://h', connectionString: 'for others' } },
      })),
      { postgres, lock: new NoopLock(), telemetry: silentTelemetry, redis: undefined },
      { postgres, driver: 'redis-zset', redis: 'redis://127.0.0.1', sweepIntervalMs: 300_000 },
      { postgres, telemetry: { failed: () => undefined } },
      { postgres, drainers: 16, standstillLimitMs: 20_000, brake: { kinds: ['a'], share: 1 } },
      { postgres, brake: { kinds: ['a'], suspicion: () => undefined, onEngaged: () => undefined } },
      { postgres, driver: { ...own, survey: () => Promise.reject(new Error('cannot')) } },
    ];
    expect(taken.map((one) => checkOptions(one))).toEqual(taken);
    redis.disconnect();
  });

  it.each([
    [undefined, "`postgres` must be one of { url }, { dataSource } (TypeORM's) and { pool }"],
    [{ postgres: 'postgres://' }, '`postgres` must be one of { url }'],
    [{ postgres: { ...postgres, pool: {} } }, '`postgres` must be one of { url }'],
    [{ postgres: { dataSource: {} } }, '`postgres` must be one of { url }'],
    [{ postgres: { dataSource: { query: go } } }, '`postgres` must be one of { url }'],
    [
      { postgres: { url: 'foo' } },
      '`postgres.url` must be a URL that begins with postgres:// or postgresql://',
    ],
    [{ postgres: { url: 'postgres://h1:1,h2:2/shop' } }, '`postgres.url` must name one host only'],
    [{ postgres: { url: 'postgres://u:50%@h1/shop' } }, '`postgres.url` must write a "%" in'],
    [{ postgres: { url: 'postgres://h1:x/shop' } }, '`postgres.url` must be a URL such as'],
    [
      { postgres: { pool: {} } },
      '`postgres.pool` must be a Pool of node-postgres, with the `options` that it was made with',
    ],
    [
      { postgres, redisUrl: 'redis://' },
      'there is no option "redisUrl"; there are: postgres, redis',
    ],
    [{ postgres, redis: 6379 }, '`redis` must be a URL, options or a client of ioredis'],
    [{ postgres, redis: '' }, '`redis` must be a URL, options or a client of ioredis'],
    [
      { postgres, redis: 'foo' },
      '`redis` must be redis://host:6379, redis://host1:6379,host2:6379',
    ],
    [{ postgres, redis: 'redis://:50%@h' }, '`redis` must write a "%" in a name or a password'],
    [{ postgres, redis: 'redis+sentinel://h:26379' }, '`redis` names no master'],
    [{ postgres, schema: 7 }, '`schema` must be a text'],
    [
      { postgres, redis: { url: 'redis://h:6379' } },
      '`redis` has `url`, which ioredis does not know: give the URL itself, or { host, port }',
    ],
    [{ postgres, redis: { connection: {} } }, '`redis` has `connection`, which ioredis does not'],
    [{ postgres, drainers: 0 }, '`drainers` must be at least 1'],
    [{ postgres, drainers: 17 }, '`drainers` must be at most 16'],
    [{ postgres, standstillLimitMs: 20_001 }, '`standstillLimitMs` must be at most 20000'],
    [{ postgres, standstillLimitMs: 999 }, '`standstillLimitMs` must be at least 1000'],
    [{ postgres, brake: '20%' }, '`brake` must be { kinds, share?, suspicion?, onEngaged? }'],
    [{ postgres, brake: { kinds: [] } }, '`brake.kinds` must be'],
    [{ postgres, brake: { kinds: ['a'], share: 20 } }, '`brake.share` must be'],
    [{ postgres, brake: { kinds: ['a'], suspicion: 'x' } }, '`brake.suspicion` must be'],
    [
      { postgres, brake: { kinds: ['a'], shares: 1 } },
      'there is no option "brake.shares"; there are: kinds, share',
    ],
    [{ postgres, driver: {} }, '`driver` must be a name or a TimerDriver'],
    [
      { postgres, driver: { start: go, stop: go } },
      '`driver` must be a name or a TimerDriver; it has no `name`, `arm`, `disarm`, `survey`, `abilities.scope`',
    ],
    [
      { postgres, driver: { ...own, arm: undefined, survey: 7 } },
      'a TimerDriver; it has no `arm`, `survey`',
    ],
    [
      { postgres, driver: { ...own, abilities: { ...own.abilities, surveys: 'yes' } } },
      'a TimerDriver; it has no `abilities.surveys`',
    ],
    [{ postgres, lock: {} }, '`lock` must be a Lock'],
    [{ postgres, role: 'worker' }, '`role` must be "ring" or "arm"'],
    [{ postgres, migrate: 'no' }, '`migrate` must be true or false'],
    [{ postgres, sweepIntervalMs: '10s' }, 'must be a whole number of milliseconds'],
    [{ postgres, sweepIntervalMs: 0 }, '`sweepIntervalMs` must be above 0'],
    [{ postgres, sweepIntervalMs: 300_001 }, '`sweepIntervalMs` must be at most 300000 (5 min)'],
    [{ postgres, driver: 'bullmq' }, 'driver "bullmq" needs the option `redis`'],
    [{ postgres, driver: 'redis-zset' }, 'driver "redis-zset" needs the option `redis`'],
    [
      { postgres, driver: 'rabbitmq' },
      'driver "rabbitmq" needs RABBITMQ_URL, which no option gives',
    ],
    [{ postgres, telemetry: 'on' }, '`telemetry` must be a TimeoutTelemetry'],
    [{ postgres, telemetry: { swept: () => undefined } }, '`telemetry` must be a TimeoutTelemetry'],
    [
      { postgres, telemetry: { failed: () => undefined, swept: 'on' } },
      '`telemetry` must be a TimeoutTelemetry',
    ],
  ])('%j are refused with what is wrong', (given, words) => {
    expect(check(given)).toThrow(TypeError);
    expect(check(given)).toThrow(words);
  });

  it.each([
    [undefined, '`postgres` must be one of { url }'],
    [{ postgres: { url: 'foo' } }, '`postgres.url` must be a URL'],
    [{ postgres, schema: 7 }, '`schema` must be a text'],
  ])('of migrateTimeouts are looked at as well: %j', async (given, words) => {
    await expect(migrateTimeouts(given as never)).rejects.toThrow(`migrateTimeouts: ${words}`);
  });

  it('name a driver that there is', () => {
    expect(check({ postgres, driver: 'rabitmq' })).toThrow('There are: bullmq, memory');
  });
});

class Idle {}

describe('what TimeoutModule is given', () => {
  it.each([
    [undefined, '`postgres` must be one of { url }'],
    ['postgres://shop@127.0.0.1/shop', '`postgres` must be one of { url }'],
    [{ postgres, name: 7 }, '`name` must be a text'],
    [{ postgres, name: '' }, '`name` must be a text'],
  ])('by forRoot, %j, is refused at once', (given, words) => {
    const make = () => TimeoutModule.forRoot(given as never);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(`TimeoutModule: ${words}`);
    expect(make).not.toThrow('there is no option');
  });

  it.each([[undefined], [{}], [{ useFactory: { postgres } }], [{ inject: [] }]])(
    'by forRootAsync, %j, is refused at once',
    (given) => {
      const make = () => TimeoutModule.forRootAsync(given as never);
      expect(make).toThrow(TypeError);
      expect(make).toThrow('TimeoutModule.forRootAsync: one of `useFactory`, `useClass` and');
    },
  );

  it.each([
    [{ role: 'arm' }, '`role` is one of the options that are made, and does not stand beside'],
    [{ postgres }, '`postgres` is one of the options that are made, and does not stand beside'],
    [{ isGlobal: true }, 'there is no option "isGlobal"; there are: name, imports, inject'],
    [{ imports: class {} }, '`imports` must be a list of modules'],
  ])('by forRootAsync, beside what makes the options, %j is refused at once', (beside, words) => {
    const make = () => TimeoutModule.forRootAsync({ useFactory: go, ...beside } as never);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(`TimeoutModule.forRootAsync: ${words}`);
  });

  it.each(['useClass', 'useExisting'])('by %s, which makes none, is refused', async (how) => {
    @Module({ providers: [Idle], exports: [Idle] })
    class Settings {}
    const deadlines = TimeoutModule.forRootAsync({ imports: [Settings], [how]: Idle } as never);
    await expect(Test.createTestingModule({ imports: [deadlines] }).compile()).rejects.toThrow(
      'TimeoutModule.forRootAsync: Idle must have a method `createTimeoutOptions()`',
    );
  });

  it.each(['useFactory', 'useExisting'])('by useClass is asked beside no %s', async (absent) => {
    class Settings {
      createTimeoutOptions = () => ({ postgres: 'as it is made' });
    }
    const deadlines = TimeoutModule.forRootAsync({
      ...{ [absent]: undefined, useClass: Settings },
    } as never);
    await expect(Test.createTestingModule({ imports: [deadlines] }).compile()).rejects.toThrow(
      'TimeoutModule: `postgres` must be one of',
    );
  });

  it('by forFeature may be provided by a factory, and is refused where a circular import has left none', () => {
    const made = { provide: Idle, useFactory: () => new Idle() };
    expect(TimeoutModule.forFeature([made as never])).toMatchObject({ providers: [made] });
    expect(() => TimeoutModule.forFeature([undefined as never])).toThrow(
      new TypeError(
        'TimeoutModule.forFeature: one of the handlers is undefined: two files import each other',
      ),
    );
  });

  it('by forFeature is refused where it is no handler: it would never be called', () => {
    class EndTrials {
      handle = async () => ({ changed: 0 });
    }
    expect(() => TimeoutModule.forFeature([EndTrials])).toThrow(
      new TypeError('TimeoutModule.forFeature: EndTrials is no @DeadlineHandler(kind)'),
    );
  });
});
