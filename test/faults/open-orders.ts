import type { Step } from './fault';
import { pause } from './load';

export async function areClosed({ rig }: Step, ids: readonly string[]): Promise<boolean> {
  await pause(20);
  const [row] = await rig.rows<{ open: boolean }>(
    `SELECT EXISTS (SELECT FROM orders WHERE id = ANY ($1::uuid[]) AND status <> 'closed') AS open`,
    [ids],
  );
  return row?.open === false;
}

export async function countOpen({ rig }: Step): Promise<number> {
  const [row] = await rig.rows<{ n: number }>(
    `SELECT count(*)::int AS n FROM orders WHERE status IN ('pending_payment', 'closing')`,
  );
  return row?.n ?? 0;
}
