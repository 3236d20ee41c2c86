import type { Queryable } from '../../order/order-rows';
import type { RedisMark } from '../redis-mark';
import { readRunningSettings } from '../running-settings';
import { type Check, finding, ok, unknown } from './check';

const NAME = 'one for all';
const FIX =
  'give all processes the same REDIS_URL: an alarm that one arms in its Redis rings in no other. ' +
  'Where this Redis has just lost its data, look again in half a minute';

/** Whether all that are alive use the Redis that is used here; nothing where none of them uses one. */
export async function examineOneRedis(sql: Queryable, mark: RedisMark): Promise<Check[]> {
  const { processes, isAlive } = await readRunningSettings(sql, {});
  const told = (isAlive ? processes : []).flatMap(({ host, pid, redisMark }) =>
    redisMark === null ? [] : [{ where: `at ${host}:${pid}`, redisMark }],
  );
  if (told.length === 0 || !mark.isUsed) return [];
  try {
    const all = [
      ...told,
      { where: 'here', redisMark: (await mark.read()) ?? 'one without a mark' },
    ];
    if (new Set(all.map(({ redisMark }) => redisMark)).size === 1) {
      const count = told.length === 1 ? '1 process' : `${told.length} processes`;
      return [ok('redis', NAME, `the same for ${count} and here`)];
    }
    const each = all.map(({ where, redisMark }) => `${redisMark} ${where}`);
    return [finding('redis', NAME, `by their marks: ${each.join(', ')}`, FIX)];
  } catch (error) {
    return [unknown('redis', NAME, error, 'mend Redis, and look again')];
  }
}
