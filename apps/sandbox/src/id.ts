import { randomUUID } from 'node:crypto';

export function newId(prefix: 'pay' | 're' | 'dp' | 'evt'): string {
  return `${prefix}_${randomUUID().replaceAll('-', '')}`;
}
