import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const adopting = readFileSync(join(__dirname, '../../docs/adopting.md'), 'utf8');

describe('docs/adopting.md', () => {
  // That it compiles is shown by `npm run test:packages`.
  it('says where a host without a provider has one from, as it is refused without any', () => {
    const [, orders = ''] = /^## Orders$([^]*?)^## /m.exec(adopting) ?? [];
    expect(orders).toContain("import { SandboxProvider } from '@lastcall/orders/sandbox';");
  });
});
