import type { ClientContext, Redis, Result } from 'ioredis';

/** So many batches are held by a set of their own at once; who finds none free locks key by key. */
const SETS = 8;
/** Lua's stack ends a little above 8,000 values. */
const SLICE = 4_000;

/** The sets that hold batches, behind one tag: the first keys of scripts that look at what is held. */
export function batchSets(tag: string): readonly string[] {
  return Array.from({ length: SETS }, (_, index) => `${tag}:lock:batch:${index}`);
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
  local SETS = ${SETS}
  local function are_held()
    local held = 0
    in_slices(SETS + 1, function(first, last)
      held = held + redis.call('EXISTS', unpack(KEYS, first, last))
    end)
    return held > 0
  end
  local function batches()
    local held = {}
    if redis.call('EXISTS', unpack(KEYS, 1, SETS)) > 0 then
      for index = 1, SETS do
        if redis.call('EXISTS', KEYS[index]) == 1 then held[#held + 1] = KEYS[index] end
      end
    end
    return held
  end`;

/** All keys or none, each by itself: the number of keys, or 0 when one of them is held. */
const ACQUIRE = `${LOOK}
  if are_held() then return 0 end
  for _, batch in ipairs(batches()) do
    for index = SETS + 1, #KEYS do
      if redis.call('SISMEMBER', batch, KEYS[index]) == 1 then return 0 end
    end
  end
  for index = SETS + 1, #KEYS do
    redis.call('SET', KEYS[index], ARGV[2], 'PX', ARGV[3])
  end
  return #KEYS`;

/** Sets the time of all keys anew, if all still have this hold's value; else of none. */
const EXTEND = `${IN_SLICES}
  local lost = 0
  in_slices(1, function(first, last)
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
  in_slices(1, function(first, last)
    local mine = {}
    for index, value in ipairs(redis.call('MGET', unpack(KEYS, first, last))) do
      if value == ARGV[2] then mine[#mine + 1] = KEYS[first + index - 1] end
    end
    if #mine > 0 then freed = freed + redis.call('DEL', unpack(mine)) end
  end)
  return freed`;

/**
 * All keys or none, in the first set that is free, together with this hold's value. It has its time
 * before it has the keys: whatever becomes of this script, nothing stays locked for ever.
 */
const ACQUIRE_BATCH = `${LOOK}
  local own
  for index = SETS, 1, -1 do
    if redis.call('EXISTS', KEYS[index]) == 0 then own = KEYS[index] end
  end
  if not own or are_held() then return 0 end
  local others = batches()
  redis.call('SADD', own, ARGV[2])
  redis.call('PEXPIRE', own, ARGV[3])
  in_slices(SETS + 1, function(first, last) redis.call('SADD', own, unpack(KEYS, first, last)) end)
  for _, other in ipairs(others) do
    if #redis.call('SINTER', own, other) > 0 then
      redis.call('DEL', own)
      return 0
    end
  end
  return #KEYS`;

/** The set that has this hold's value, among the keys. */
const OWN_BATCH = `
  local own
  for index = 1, ${SETS} do
    if redis.call('SISMEMBER', KEYS[index], ARGV[2]) == 1 then own = KEYS[index] end
  end
  if not own then return 0 end`;

const EXTEND_BATCH = `${OWN_BATCH} redis.call('PEXPIRE', own, ARGV[3]) return #KEYS`;
const RELEASE_BATCH = `${OWN_BATCH} redis.call('DEL', own) return #KEYS`;

/** For how long each key is held still, in milliseconds; below 0: it is free. */
const LIVES = `${LOOK}
  local lives = {}
  for index = SETS + 1, #KEYS do lives[index - SETS] = redis.call('PTTL', KEYS[index]) end
  for _, batch in ipairs(batches()) do
    local left = redis.call('PTTL', batch)
    for index = SETS + 1, #KEYS do
      if redis.call('SISMEMBER', batch, KEYS[index]) == 1 then lives[index - SETS] = left end
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

/** The client as Redlock sees it that locks batches by a set each. */
export function asBatchClient(client: Redis): Redis {
  const commands = {
    acquireLock: client.acquireBatch.bind(client),
    extendLock: client.extendBatch.bind(client),
    releaseLock: client.releaseBatch.bind(client),
  };
  return commands as unknown as Redis;
}
