import type { RedisOwner } from '../redis-owner';
import { type Check, finding, ok, unknown } from './check';

const NAME = 'last used by';
const FIX =
  'if both run, give each a Redis, or a database of one, of its own (REDIS_URL ends in /1); ' +
  'if the other is gone, restart a process of this one';

/** Whether another installation has begun with this Redis after us; nothing where there is none. */
export async function examineRedisOwner(owner: RedisOwner): Promise<Check[]> {
  try {
    const owners = await owner.read();
    if (!owners) return [];
    const { last, us } = owners;
    if (last === null) return [ok('redis', NAME, 'nobody yet')];
    if (last === us) return [ok('redis', NAME, 'this database')];
    const detail = `another database, ${last} (this is ${us}): they take each other's alarms, and share the stream`;
    return [finding('redis', NAME, detail, FIX)];
  } catch (error) {
    return [unknown('redis', NAME, error, 'mend Redis, and look again')];
  }
}
