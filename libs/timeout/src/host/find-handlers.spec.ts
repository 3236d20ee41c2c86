import 'reflect-metadata';
import { Controller, Injectable, Module, type Provider, Scope, type Type } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { DeadlineHandler, type HandlesDue, ScopedDeadlineHandlerError } from '../public';
import { assertFoundInTime, findHandlers, madeHandler } from './find-handlers';

async function handlersOf(provider: Provider): Promise<HandlesDue[]> {
  const module = await Test.createTestingModule({
    imports: [DiscoveryModule],
    providers: [provider],
  }).compile();
  return findHandlers(module.get(DiscoveryService), 'default').map(madeHandler);
}

describe('a @DeadlineHandler whose class says a scope', () => {
  const marks = (scope: Scope) => [DeadlineHandler('scoped'), Injectable({ scope })];
  const made = (scope: Scope, order: (marks: ClassDecorator[]) => ClassDecorator[]): Type => {
    class EndTrials implements HandlesDue {
      handle = () => Promise.resolve({ changed: 0 });
    }
    for (const mark of order(marks(scope) as ClassDecorator[])) mark(EndTrials);
    return EndTrials;
  };

  it.each([
    [Scope.REQUEST, 'above', (all: ClassDecorator[]) => all],
    [Scope.REQUEST, 'below', (all: ClassDecorator[]) => all.reverse()],
    [Scope.TRANSIENT, 'above', (all: ClassDecorator[]) => all],
    [Scope.TRANSIENT, 'below', (all: ClassDecorator[]) => all.reverse()],
  ])('is refused with scope %p, by an @Injectable %s', async (scope, _where, order) => {
    await expect(handlersOf(made(scope, order))).rejects.toBeInstanceOf(ScopedDeadlineHandlerError);
  });

  it('is found where that is the default', async () => {
    const [handler] = await handlersOf(made(Scope.DEFAULT, (all) => all.reverse()));
    expect(await handler?.handle([], undefined as never)).toEqual({ changed: 0 });
  });
});

describe('a class with two @DeadlineHandler', () => {
  class EndTrials implements HandlesDue {
    handle = () => Promise.resolve({ changed: 0 });
  }
  DeadlineHandler('trial-end')(EndTrials);

  it('is refused, as one of them would never be handled', () => {
    expect(() => DeadlineHandler('trial-mail')(EndTrials)).toThrow(
      new TypeError(
        'EndTrials has two marks @DeadlineHandler, of which one would never be heard of: write a class for each',
      ),
    );
  });

  it('is none where the other is of the class that it extends', () => {
    class EndTrialsByMail extends EndTrials {}
    expect(() => DeadlineHandler('trial-mail')(EndTrialsByMail)).not.toThrow();
  });
});

describe('a @DeadlineHandler that Nest does not make by its class', () => {
  @DeadlineHandler('trial-end')
  class EndTrials implements HandlesDue {
    handle = () => Promise.resolve({ changed: 1 });
  }
  const fake: HandlesDue = { handle: () => Promise.resolve({ changed: 2 }) };

  it.each<[string, Provider, number]>([
    ['by a factory', { provide: EndTrials, useFactory: () => new EndTrials() }, 1],
    ['by a factory that waits', { provide: EndTrials, useFactory: async () => fake }, 2],
    ['as a value', { provide: 'TRIALS', useValue: new EndTrials() }, 1],
    ['as a value of another class', { provide: EndTrials, useValue: fake }, 2],
  ])('is found %s', async (_how, provider, changed) => {
    const [handler] = await handlersOf(provider);
    expect(await handler?.handle([], undefined as never)).toEqual({ changed });
  });

  it('is found once where it has another name', async () => {
    @Module({ providers: [EndTrials, { provide: 'TRIALS', useExisting: EndTrials }] })
    class Trials {}
    const app = await Test.createTestingModule({ imports: [DiscoveryModule, Trials] }).compile();
    expect(findHandlers(app.get(DiscoveryService), 'default')).toHaveLength(1);
  });

  it('is found once where a factory gives it another name', async () => {
    const app = await Test.createTestingModule({
      imports: [DiscoveryModule],
      providers: [
        EndTrials,
        { provide: 'TRIALS', inject: [EndTrials], useFactory: (one: EndTrials) => one },
      ],
    }).compile();
    expect(findHandlers(app.get(DiscoveryService), 'default')).toHaveLength(1);
  });

  it.each<[string, Provider]>([
    ['nothing', { provide: EndTrials, useFactory: () => undefined }],
    ['what handles nothing', { provide: EndTrials, useValue: {} }],
  ])('is refused where it is %s', async (_what, provider) => {
    await expect(handlersOf(provider)).rejects.toThrow('it must have a method `handle(due, tx)`');
  });

  it('is found as a controller', async () => {
    @Controller('receipts')
    @DeadlineHandler('receipt-end')
    class EndReceipts extends EndTrials {}
    const app = await Test.createTestingModule({
      imports: [DiscoveryModule],
      controllers: [EndReceipts],
    }).compile();
    expect(findHandlers(app.get(DiscoveryService), 'default')).toHaveLength(1);
  });

  it('is refused where a factory makes it under a name that tells nothing of it', async () => {
    const app = await Test.createTestingModule({
      imports: [DiscoveryModule],
      providers: [{ provide: 'TRIALS', useFactory: () => new EndTrials() }],
    }).compile();
    const found = findHandlers(app.get(DiscoveryService), 'default');
    expect(found).toHaveLength(1);
    expect(() => assertFoundInTime([], found)).toThrow('{ provide: EndTrials, useFactory }');
  });
});

it('of one class that two modules provide is refused by the names of both', async () => {
  @DeadlineHandler('trial-end')
  class EndTrials implements HandlesDue {
    handle = () => Promise.resolve({ changed: 0 });
  }
  @Module({ providers: [EndTrials] })
  class Trials {}
  @Module({ providers: [EndTrials] })
  class Mails {}
  const imports = [DiscoveryModule, Trials, Mails];
  const app = await Test.createTestingModule({ imports }).compile();
  expect(() => findHandlers(app.get(DiscoveryService), 'default')).toThrow(
    'Keep one @DeadlineHandler("trial-end") of EndTrials, which is provided twice, in Trials and Mails: ' +
      'provide it in one module, imported once, and export it to others that need it.',
  );
});
