import type { RedisScript } from '../redis-alarm-store';

/** KEYS: the instants by id. ARGV: prefix of keys, then id, instant and time to live in turn. */
export const ARM: RedisScript = {
  name: 'lcKeyspaceArm',
  lua: `
    for i = 2, #ARGV, 3 do
      if redis.call('SET', ARGV[1] .. ARGV[i], '', 'NX', 'PX', ARGV[i + 2]) then
        redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
      end
    end`,
};

/** ARGV: ids that have expired. Answers with the instants of those that nobody else has claimed. */
export const CLAIM: RedisScript = {
  name: 'lcKeyspaceClaim',
  lua: `
    local instants = {}
    for i, id in ipairs(ARGV) do
      instants[i] = redis.call('HGET', KEYS[1], id) or ''
      redis.call('HDEL', KEYS[1], id)
    end
    return instants`,
};

/** ARGV: prefix of keys, then ids. */
export const DISARM: RedisScript = {
  name: 'lcKeyspaceDisarm',
  lua: `
    for i = 2, #ARGV do
      redis.call('DEL', ARGV[1] .. ARGV[i])
      redis.call('HDEL', KEYS[1], ARGV[i])
    end`,
};
