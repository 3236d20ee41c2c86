import { queryRows } from '@app/timeout';
import type { DataSource } from 'typeorm';

/** Who this installation is to a provider: it stays with the database, wherever that moves. */
export async function readInstallationId(dataSource: DataSource): Promise<string> {
  const [row] = await queryRows<{ id: string }>(dataSource, 'SELECT id FROM installation');
  if (!row) throw new Error('The table installation has lost its row; restore it from a backup');
  return row.id;
}
