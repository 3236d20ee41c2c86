import type { RedisScript } from '../redis-alarm-store';

/*
 * waiting: ids by instant. order: the same ids as they came, as Redisson keeps them. ready: what is
 * due, as instant:id, for whoever pops it.
 */

/** ARGV: channel, then id and instant in turn. A new head is told of. */
export const OFFER: RedisScript = {
  name: 'lcListOffer',
  lua: `
    local function head() return redis.call('ZRANGE', KEYS[1], 0, 0)[1] end
    local before = head()
    for i = 2, #ARGV, 2 do
      if redis.call('ZADD', KEYS[1], 'NX', ARGV[i + 1], ARGV[i]) == 1 then
        redis.call('RPUSH', KEYS[2], ARGV[i])
      end
    end
    if head() ~= before then redis.call('PUBLISH', ARGV[1], 'head') end`,
};

/** ARGV: now, limit. Answers with when to look again, '' when nothing waits. */
export const TRANSFER: RedisScript = {
  name: 'lcListTransfer',
  lua: `
    local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'WITHSCORES', 'LIMIT', 0, ARGV[2])
    for i = 1, #due, 2 do
      redis.call('RPUSH', KEYS[3], due[i + 1] .. ':' .. due[i])
      -- Its cost: the list is searched from its front, and who rings early may stand far behind.
      redis.call('LREM', KEYS[2], 1, due[i])
      redis.call('ZREM', KEYS[1], due[i])
    end
    return redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2] or ''`,
};

/** ARGV: ids. */
export const REMOVE: RedisScript = {
  name: 'lcListRemove',
  lua: `
    for _, id in ipairs(ARGV) do
      if redis.call('ZREM', KEYS[1], id) == 1 then redis.call('LREM', KEYS[2], 1, id) end
    end`,
};
