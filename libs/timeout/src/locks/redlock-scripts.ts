import type { Redis, Result } from 'ioredis';

/** Lua's stack ends a little above 8,000 values. */
const SLICE = 4_000;

const IN_SLICES = `
  local function in_slices(work)
    for first = 1, #KEYS, ${SLICE} do
      work(first, math.min(first + ${SLICE - 1}, #KEYS))
    end
  end`;

/** All keys or none: the number of keys taken, or 0 when one of them is held. */
const ACQUIRE = `${IN_SLICES}
  local held = 0
  in_slices(function(first, last)
    held = held + redis.call('EXISTS', unpack(KEYS, first, last))
  end)
  if held > 0 then return 0 end
  for _, key in ipairs(KEYS) do redis.call('SET', key, ARGV[2], 'PX', ARGV[3]) end
  return #KEYS`;

/** Sets the time of all keys anew, if all still have this hold's value; else of none. */
const EXTEND = `${IN_SLICES}
  local lost = 0
  in_slices(function(first, last)
    for _, value in ipairs(redis.call('MGET', unpack(KEYS, first, last))) do
      if value ~= ARGV[2] then lost = lost + 1 end
    end
  end)
  if lost > 0 then return 0 end
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[3]) end
  return #KEYS`;

/** Frees the keys that still have this hold's value, and says how many they were. */
const RELEASE = `${IN_SLICES}
  local freed = 0
  in_slices(function(first, last)
    local mine = {}
    for index, value in ipairs(redis.call('MGET', unpack(KEYS, first, last))) do
      if value == ARGV[2] then mine[#mine + 1] = KEYS[first + index - 1] end
    end
    if #mine > 0 then freed = freed + redis.call('DEL', unpack(mine)) end
  end)
  return freed`;

/** How long each key still lives, in milliseconds; below 0: it is free. */
const LIVES = `
  local lives = {}
  for index, key in ipairs(KEYS) do lives[index] = redis.call('PTTL', key) end
  return lives`;

declare module 'ioredis' {
  interface RedisCommander<Context> {
    locksLive(keys: number, ...names: string[]): Result<number[], Context>;
  }
}

/**
 * Redlock's scripts for many keys at once. Its own ask Redis twice for every key; these look at
 * all of them at once, and free them at once. Redlock takes a client's commands of these names for
 * its own (`ensureCommands` in redlock/build/scripts.js); the contract of every lock sees to it.
 * Arguments as there: database, value, milliseconds. The database is that of the connection.
 */
export function defineBatchScripts(client: Redis): void {
  client.defineCommand('acquireLock', { lua: ACQUIRE });
  client.defineCommand('extendLock', { lua: EXTEND });
  client.defineCommand('releaseLock', { lua: RELEASE });
  client.defineCommand('locksLive', { lua: LIVES });
}
