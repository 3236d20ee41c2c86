import 'reflect-metadata';
import { Injectable, Scope, type Type } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { DeadlineHandler, type HandlesDue, ScopedDeadlineHandlerError } from '../public';
import { findHandlers, madeHandler } from './find-handlers';

async function handlersOf(provider: Type): Promise<HandlesDue[]> {
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
