// npm run client:types: writes the types of libs/client from the document that a running API serves.
import { writeFileSync } from 'node:fs';
import { startTestApp } from '../support/app';
import { TYPES_FILE, typesOf } from './types-from-openapi';

async function main(): Promise<void> {
  const api = await startTestApp({ settings: { ROLES: 'api' } });
  const { body } = await api.request('GET /docs-json').finally(() => api.close());
  writeFileSync(TYPES_FILE, typesOf(body, 'storefront'));
  console.log(`written: ${TYPES_FILE}`);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
