import type { ClientContext, Redis, Result } from 'ioredis';
import { PACKED } from './marks';

/** So many batches are held at once, each by a key of its own; who finds none free locks key by key. */
const BATCHES = 8;
/** Lua's stack ends a little above 8,000 values. */
const SLICE = 4_000;

/**
 * What scripts look at behind a tag, their first keys: the register of the keys that are held one by
 * one, each with the end of its hold in milliseconds, and those that hold batches.
 */
export function lookedAt(tag: string): readonly string[] {
  const batches = Array.from({ length: BATCHES }, (_, index) => `${tag}:lock:many:${index}`);
  return [`${tag}:lock:single`, ...batches];
}

/** Hands on the keys from `from` on, as many at once as one command may have. */
const IN_SLICES = `
  local function in_slices(from, work)
    for first = from, #KEYS, ${SLICE} do
      work(first, math.min(first + ${SLICE - 1}, #KEYS))
    end
  end`;

const DIGITS = [8, 4, 4, 4, 12].map((many) => `(${'%x'.repeat(many)})`).join('%-');
/** What stands for a key in a batch, as marks.ts has it. */
const MARK_OF = `
  local function mark_of(name)
    local a, b, c, d, e = string.match(name, '${DIGITS}$')
    local hex = a and a .. b .. c .. d .. e or redis.sha1hex(name)
    local function word(from) return tonumber(string.sub(hex, from, from + 7), 16) end
    return struct.pack('>I4I4I4I4', word(1), word(9), word(17), word(25))
  end`;
/** Whether a mark is among those that marks.ts has packed; \`read\` gives bytes of them, from 1 on. */
const AMONG = `${MARK_OF}
  local function stored(key)
    return function(from, to) return redis.call('GETRANGE', key, from - 1, to - 1) end
  end
  local function packed(text)
    return function(from, to) return string.sub(text, from, to) end
  end
  local function same_sum(read, sum)
    local first, last = struct.unpack('>I4I4', read(4 * sum + 1, 4 * sum + 8))
    return first < last and read(first + 1, last) or ''
  end
  local function sum_of(mark)
    local sum = 0
    for _, byte in ipairs({ string.byte(mark, 1, ${PACKED.mark}) }) do sum = sum + byte end
    return sum % 256
  end
  local function among(read, mark)
    return string.find(same_sum(read, sum_of(mark)), mark, 1, true) ~= nil
  end`;
/** Numbers of 32 bits, as Lua's are exact up to 53. */
const RANGE_WORDS = PACKED.range / 4;
/**
 * Whether two that marks.ts has packed have a mark in common: looked at only where the ranges of their marks
 * meet, which those of orders that were placed one after the other do not. \`theirs\`: the key of one.
 */
const MEETS = `
  local function range(read)
    local ends = read(${PACKED.table + 1}, ${PACKED.table + 2 * PACKED.range})
    local words = '>${'I4'.repeat(RANGE_WORDS)}'
    return { struct.unpack(words, ends) }, { struct.unpack(words, ends, ${PACKED.range + 1}) }
  end
  local function less(one, other)
    for word = 1, ${RANGE_WORDS} do
      if one[word] ~= other[word] then return one[word] < other[word] end
    end
    return false
  end
  local function meets(mine, theirs)
    local least, greatest = range(packed(mine))
    local others_least, others_greatest = range(stored(theirs))
    if less(greatest, others_least) or less(others_greatest, least) then return false end
    local read = packed(redis.call('GET', theirs))
    for sum = 0, 255 do
      local some, others = same_sum(packed(mine), sum), same_sum(read, sum)
      for at = 1, others == '' and 0 or #some, ${PACKED.mark} do
        if string.find(others, string.sub(some, at, at + ${PACKED.mark - 1}), 1, true) then return true end
      end
    end
    return false
  end`;

/** A key is held by itself, or by being in a batch. */
const LOOK = `${IN_SLICES} ${AMONG} ${MEETS}
  local SINGLE, FIRST = KEYS[1], ${BATCHES + 2}
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
 * All keys or none, each by itself: the number of keys, or 0 when one of them is held. Of many their marks are
 * given as well, packed. What needs memory is written first: a full Redis refuses a script's first write, and
 * none after it.
 */
const ACQUIRE = `${LOOK}
  local held = 0
  in_slices(FIRST, function(first, last)
    held = held + redis.call('EXISTS', unpack(KEYS, first, last))
  end)
  if held > 0 then return 0 end
  for _, batch in ipairs(batches()) do
    if ARGV[4] then
      if meets(ARGV[4], batch) then return 0 end
    else
      for index = FIRST, #KEYS do
        if among(stored(batch), mark_of(KEYS[index])) then return 0 end
      end
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

/** All of a batch or none, by the first key that is free: with the marks it has this hold's value. */
const ACQUIRE_BATCH = `${LOOK}
  local own
  for index = FIRST - 1, 2, -1 do
    if redis.call('EXISTS', KEYS[index]) == 0 then own = KEYS[index] end
  end
  if not own then return 0 end
  local mine = ARGV[4]
  for _, other in ipairs(batches()) do
    if meets(mine, other) then return 0 end
  end
  for _, single in ipairs(redis.call('ZRANGEBYSCORE', SINGLE, '(' .. now_ms(), '+inf')) do
    if among(packed(mine), mark_of(single)) then return 0 end
  end
  redis.call('SET', own, mine .. ARGV[2], 'PX', ARGV[3])
  return #KEYS`;

/** The key of the batch that ends in this hold's value. */
const OWN_BATCH = `
  local own
  for index = 2, #KEYS do
    if redis.call('GETRANGE', KEYS[index], -#ARGV[2], -1) == ARGV[2] then own = KEYS[index] end
  end
  if not own then return 0 end`;

const EXTEND_BATCH = `${OWN_BATCH} redis.call('PEXPIRE', own, ARGV[3]) return #KEYS`;
const RELEASE_BATCH = `${OWN_BATCH} redis.call('DEL', own) return #KEYS`;

/**
 * For how long each key is held still, in milliseconds; below 0: it is free. Of many their marks are given as
 * well: packed, and in the order of the keys.
 */
const LIVES = `${LOOK}
  local lives = {}
  for index = FIRST, #KEYS do lives[index - FIRST + 1] = redis.call('PTTL', KEYS[index]) end
  local mine, row = ARGV[1], ARGV[2]
  for _, batch in ipairs(batches()) do
    local left = redis.call('PTTL', batch)
    if not mine then
      for index = FIRST, #KEYS do
        if among(stored(batch), mark_of(KEYS[index])) then lives[index - FIRST + 1] = left end
      end
    elseif meets(mine, batch) then
      local read = packed(redis.call('GET', batch))
      for nth = 1, #lives do
        local at = ${PACKED.mark} * nth
        if among(read, string.sub(row, at - ${PACKED.mark - 1}, at)) then lives[nth] = left end
      end
    end
  end
  return lives`;

type LockCommand<Context extends ClientContext> = (
  keys: number,
  ...keysAndArgs: (string | Buffer)[]
) => Result<number, Context>;

declare module 'ioredis' {
  interface RedisCommander<Context> {
    acquireLock: LockCommand<Context>;
    extendLock: LockCommand<Context>;
    releaseLock: LockCommand<Context>;
    acquireBatch: LockCommand<Context>;
    extendBatch: LockCommand<Context>;
    releaseBatch: LockCommand<Context>;
    locksLive(keys: number, ...namesAndMarks: (string | Buffer)[]): Result<number[], Context>;
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

/** The client as Redlock sees it that locks many keys, whose marks are packed: by one key for all, or each by itself. */
export function asClientOfMany(client: Redis, marks: Buffer, asBatch: boolean): Redis {
  const [acquire, extend, release] = asBatch
    ? [client.acquireBatch, client.extendBatch, client.releaseBatch]
    : [client.acquireLock, client.extendLock, client.releaseLock];
  const commands = {
    acquireLock: (keys: number, ...keysAndArgs: string[]) =>
      acquire.call(client, keys, ...keysAndArgs, marks),
    extendLock: extend.bind(client),
    releaseLock: release.bind(client),
  };
  return commands as unknown as Redis;
}
