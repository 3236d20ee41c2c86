import type { ClientContext, Redis, Result } from 'ioredis';

/** So many batches are held by a set of their own at once; who finds none free locks key by key. */
const SETS = 8;
/** Lua's stack ends a little above 8,000 values. */
const SLICE = 4_000;

/**
 * What scripts look at behind a tag, their first keys: the register of the keys that are held one by
 * one, each with the end of its hold in milliseconds, and the sets that hold batches.
 */
export function lookedAt(tag: string): readonly string[] {
  const sets = Array.from({ length: SETS }, (_, index) => `${tag}:lock:batch:${index}`);
  return [`${tag}:lock:single`, ...sets];
}

/** Hands on the keys from `from` on, as many at once as one command may have. */
const IN_SLICES = `
  local function in_slices(from, work)
    for first = from, #KEYS, ${SLICE} do
      work(first, math.min(first + ${SLICE - 1}, #KEYS))
    end
  end`;

/** A key is held by itself, or by being in a batch's set. */
const LOOK = `${IN_SLICES}
  local SINGLE, FIRST = KEYS[1], ${SETS + 2}
  local function now_ms()
    local time = redis.call('TIME')
    return time[1] * 1000 + math.floor(time[2] / 1000)
  end
  local function batches()
    local held = {}
    if redis.call('EXISTS', unpack(KEYS, 2, FIRST - 1)) > 0 then
      for index = 2, FIRST - 1 do
        if redis.call('EXISTS', KEYS[index]) == 1 then held[#held + 1] = KEYS[index] end
      end
    end
    return held
  end`;

/**
 * All keys or none, each by itself: the number of keys, or 0 when one of them is held. What needs memory
 * is written first: a full Redis refuses a script's first write, and none after it.
 */
const ACQUIRE = `${LOOK}
  local held = 0
  in_slices(FIRST, function(first, last)
    held = held + redis.call('EXISTS', unpack(KEYS, first, last))
  end)
  if held > 0 then return 0 end
  for _, batch in ipairs(batches()) do
    for index = FIRST, #KEYS do
      if redis.call('SISMEMBER', batch, KEYS[index]) == 1 then return 0 end
    end
  end
  local now = now_ms()
  for index = FIRST, #KEYS do
    redis.call('SET', KEYS[index], ARGV[2], 'PX', ARGV[3])
    redis.call('ZADD', SINGLE, now + ARGV[3], KEYS[index])
  end
  redis.call('ZREMRANGEBYSCORE', SINGLE, '-inf', now)
  return #KEYS`;

/** Sets the time of all keys but the register anew, if all still have this hold's value; else of none. */
const EXTEND = `${LOOK}
  local lost = 0
  in_slices(2, function(first, last)
    for _, value in ipairs(redis.call('MGET', unpack(KEYS, first, last))) do
      if value ~= ARGV[2] then lost = lost + 1 end
    end
  end)
  if lost > 0 then return 0 end
  local until_ms = now_ms() + ARGV[3]
  for index = 2, #KEYS do
    redis.call('PEXPIRE', KEYS[index], ARGV[3])
    redis.call('ZADD', SINGLE, until_ms, KEYS[index])
  end
  return #KEYS`;

/** Frees the keys that still have this hold's value: all that there are if it is the number of keys. */
const RELEASE = `${IN_SLICES}
  local freed = 1
  in_slices(2, function(first, last)
    local mine = {}
    for index, value in ipairs(redis.call('MGET', unpack(KEYS, first, last))) do
      if value == ARGV[2] then mine[#mine + 1] = KEYS[first + index - 1] end
    end
    if #mine == 0 then return end
    freed = freed + redis.call('DEL', unpack(mine))
    redis.call('ZREM', KEYS[1], unpack(mine))
  end)
  return freed`;

/**
 * All keys of a text or none, in the first set that is free, together with this hold's value. It has
 * its time before it has the keys: whatever becomes of this script, nothing stays locked for ever.
 */
const ACQUIRE_BATCH = `${LOOK}
  local own
  for index = FIRST - 1, 2, -1 do
    if redis.call('EXISTS', KEYS[index]) == 0 then own = KEYS[index] end
  end
  if not own then return 0 end
  local others = batches()
  redis.call('SADD', own, ARGV[2])
  redis.call('PEXPIRE', own, ARGV[3])
  local names, count = {}, 0
  for name in string.gmatch(ARGV[4], '[^%z]+') do
    count = count + 1
    names[count] = name
    if count == ${SLICE} then
      redis.call('SADD', own, unpack(names, 1, count))
      count = 0
    end
  end
  if count > 0 then redis.call('SADD', own, unpack(names, 1, count)) end
  local busy = 0
  for _, other in ipairs(others) do busy = busy + #redis.call('SINTER', own, other) end
  for _, single in ipairs(redis.call('ZRANGEBYSCORE', SINGLE, '(' .. now_ms(), '+inf')) do
    busy = busy + redis.call('SISMEMBER', own, single)
  end
  if busy > 0 then
    redis.call('DEL', own)
    return 0
  end
  return #KEYS`;

/** The set that has this hold's value, among the keys. */
const OWN_BATCH = `
  local own
  for index = 2, #KEYS do
    if redis.call('SISMEMBER', KEYS[index], ARGV[2]) == 1 then own = KEYS[index] end
  end
  if not own then return 0 end`;

const EXTEND_BATCH = `${OWN_BATCH} redis.call('PEXPIRE', own, ARGV[3]) return #KEYS`;
const RELEASE_BATCH = `${OWN_BATCH} redis.call('DEL', own) return #KEYS`;

/** For how long each key is held still, in milliseconds; below 0: it is free. */
const LIVES = `${LOOK}
  local lives = {}
  for index = FIRST, #KEYS do lives[index - FIRST + 1] = redis.call('PTTL', KEYS[index]) end
  for _, batch in ipairs(batches()) do
    local left = redis.call('PTTL', batch)
    for index = FIRST, #KEYS do
      if redis.call('SISMEMBER', batch, KEYS[index]) == 1 then lives[index - FIRST + 1] = left end
    end
  end
  return lives`;

type LockCommand<Context extends ClientContext> = (
  keys: number,
  ...keysAndArgs: string[]
) => Result<number, Context>;

declare module 'ioredis' {
  interface RedisCommander<Context> {
    acquireBatch: LockCommand<Context>;
    extendBatch: LockCommand<Context>;
    releaseBatch: LockCommand<Context>;
    locksLive(keys: number, ...names: string[]): Result<number[], Context>;
  }
}

/**
 * Redlock's scripts for many keys at once. Its own ask Redis twice for every key; these look at
 * all of them at once, and free them at once. Redlock takes a client's commands of these names for
 * its own (`ensureCommands` in redlock/build/scripts.js); the contract of every lock sees to it.
 * Arguments as there: database, value, milliseconds. The database is that of the connection.
 */
export function defineLockScripts(client: Redis): void {
  client.defineCommand('acquireLock', { lua: ACQUIRE });
  client.defineCommand('extendLock', { lua: EXTEND });
  client.defineCommand('releaseLock', { lua: RELEASE });
  client.defineCommand('acquireBatch', { lua: ACQUIRE_BATCH });
  client.defineCommand('extendBatch', { lua: EXTEND_BATCH });
  client.defineCommand('releaseBatch', { lua: RELEASE_BATCH });
  client.defineCommand('locksLive', { lua: LIVES });
}

/** The client as Redlock sees it that locks a batch, whose names are one text, by a set. */
export function asBatchClient(client: Redis, names: string): Redis {
  const commands = {
    acquireLock: (keys: number, ...keysAndArgs: string[]) =>
      client.acquireBatch(keys, ...keysAndArgs, names),
    extendLock: client.extendBatch.bind(client),
    releaseLock: client.releaseBatch.bind(client),
  };
  return commands as unknown as Redis;
}
