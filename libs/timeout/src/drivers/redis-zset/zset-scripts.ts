import type { RedisScript } from '../redis-alarm-store';

/*
 * armed: a sorted set of ids by when to ring. leased: those that ring just now, by when their lease
 * ends. instants: of those leased or put back, the instant of the alarm, which the score is not.
 */

/** ARGV: channel, then id and instant in turn. A new head is told of. */
export const ARM: RedisScript = {
  name: 'lcZsetArm',
  lua: `
    local function head()
      return tonumber(redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]) or math.huge
    end
    local before = head()
    for i = 2, #ARGV, 2 do
      if redis.call('ZADD', KEYS[1], 'NX', ARGV[i + 1], ARGV[i]) == 1 then
        redis.call('HDEL', KEYS[3], ARGV[i])
      end
    end
    if head() < before then redis.call('PUBLISH', ARGV[1], 'head') end`,
};

/** ARGV: ids. */
export const DISARM: RedisScript = {
  name: 'lcZsetDisarm',
  lua: `
    for _, id in ipairs(ARGV) do
      if redis.call('ZREM', KEYS[1], id) == 1 and not redis.call('ZSCORE', KEYS[2], id) then
        redis.call('HDEL', KEYS[3], id)
      end
    end`,
};

/**
 * ARGV: now, limit, end of the lease. Whose lease has ended is armed again first: its process died.
 * Answers with ids and instants in turn, and last when to look again ('' when there is nothing).
 */
export const TAKE: RedisScript = {
  name: 'lcZsetTake',
  lua: `
    local now, limit = ARGV[1], ARGV[2]
    for _, id in ipairs(redis.call('ZRANGE', KEYS[2], '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)) do
      redis.call('ZREM', KEYS[2], id)
      redis.call('ZADD', KEYS[1], 'NX', redis.call('HGET', KEYS[3], id) or now, id)
    end
    local due = redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
    local taken = {}
    for i = 1, #due, 2 do
      local id = due[i]
      local at = redis.call('HGET', KEYS[3], id) or due[i + 1]
      redis.call('ZREM', KEYS[1], id)
      redis.call('ZADD', KEYS[2], ARGV[3], id)
      redis.call('HSET', KEYS[3], id, at)
      taken[#taken + 1] = id
      taken[#taken + 1] = at
    end
    local armed = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
    local leased = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2]
    if armed and leased and tonumber(leased) < tonumber(armed) then armed = leased end
    taken[#taken + 1] = armed or leased or ''
    return taken`,
};

/** ARGV: ids. What was armed again meanwhile keeps its place among the armed. */
export const FORGET: RedisScript = {
  name: 'lcZsetForget',
  lua: `
    for _, id in ipairs(ARGV) do
      redis.call('ZREM', KEYS[2], id)
      if not redis.call('ZSCORE', KEYS[1], id) then redis.call('HDEL', KEYS[3], id) end
    end`,
};

/** ARGV: id, when to ring and the alarm's instant in turn. */
export const PUT_BACK: RedisScript = {
  name: 'lcZsetPutBack',
  lua: `
    for i = 1, #ARGV, 3 do
      if redis.call('ZREM', KEYS[2], ARGV[i]) == 1
        and redis.call('ZADD', KEYS[1], 'NX', ARGV[i + 1], ARGV[i]) == 1 then
        redis.call('HSET', KEYS[3], ARGV[i], ARGV[i + 2])
      end
    end`,
};
