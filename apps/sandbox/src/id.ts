import { randomUUID } from 'node:crypto';

export function newId(prefix: 'pay' | 're' | 'evt'): string {
  return `${prefix}_${randomUUID().replaceAll('-', '')}`;
}
