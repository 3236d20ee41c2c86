import { Public, Scope, type ScopeName } from '@app/orders/http';
import type { ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AccessGuard } from './access.guard';
import type { Authenticator } from './authenticator';
import type { Caller } from './caller';
import type { PageAccess } from './page-access';
import { OrStreamToken, type StreamAccess } from './stream-access';

class Routes {
  forgotten(): void {}

  @Public()
  open(): void {}

  @Scope('ops:write')
  guarded(): void {}

  @OrStreamToken()
  @Scope('orders')
  streamed(): void {}
}

const callerWith = (...scopes: ScopeName[]): Caller => ({
  subject: 'ann',
  scopes: new Set(scopes),
  expiresAtMs: Infinity,
});

describe('AccessGuard', () => {
  const identify = jest.fn<Caller | Promise<Caller>, []>();
  const streams = { isAsked: () => true, admit: () => Promise.resolve(true) };
  const guard = new AccessGuard(
    new Reflector(),
    { identify } as unknown as Authenticator,
    streams as unknown as StreamAccess,
    { shown: () => undefined } as unknown as PageAccess,
  );
  const enter = (route: keyof Routes) =>
    guard.canActivate({
      getHandler: () => Routes.prototype[route],
      getClass: () => Routes,
      switchToHttp: () => ({ getRequest: () => ({}) }),
    } as unknown as ExecutionContext);

  it('refuses a route that declares nothing, whoever asks', () => {
    identify.mockReturnValue(callerWith('orders', 'merchant', 'ops:read'));
    expect(() => enter('forgotten')).toThrow('not open to anybody');
  });

  it('lets everybody into a public route, without looking at the token', () => {
    identify.mockClear();
    expect(enter('open')).toBe(true);
    expect(identify).not.toHaveBeenCalled();
  });

  it('lets in who has the scope, at once when the token is known', async () => {
    identify.mockReturnValue(callerWith('ops:write'));
    expect(enter('guarded')).toBe(true);
    identify.mockReturnValue(Promise.resolve(callerWith('ops:write')));
    await expect(enter('guarded')).resolves.toBe(true);
  });

  it('takes the token of a stream where a route says so, and nowhere else', async () => {
    identify.mockClear();
    await expect(enter('streamed')).resolves.toBe(true);
    expect(identify).not.toHaveBeenCalled();
    identify.mockReturnValue(callerWith());
    expect(() => enter('guarded')).toThrow('scope "ops:write"');
  });

  it('refuses who has other scopes', async () => {
    identify.mockReturnValue(callerWith('orders', 'merchant', 'ops:read'));
    expect(() => enter('guarded')).toThrow('scope "ops:write"');
    identify.mockReturnValue(Promise.resolve(callerWith()));
    await expect(enter('guarded')).rejects.toThrow('scope "ops:write"');
  });
});
