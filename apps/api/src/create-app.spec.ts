import { type Api, listen } from './create-app';

it.each([
  ['127.0.0.1', 'http://127.0.0.1:4711'],
  ['::1', 'http://[::1]:4711'],
])('tells of the address %s as it is asked', async (HOST, url) => {
  const app = {
    listen: async () => undefined,
    getHttpServer: () => ({ address: () => ({ port: 4_711 }) }),
  };
  expect(await listen({ app, config: { HOST, PORT: 0 } } as unknown as Api)).toBe(url);
});
