/** What an address of Redis has wrong, as the end of a sentence that begins with its name. */
export class RedisUrlError extends Error {
  readonly code = 'redis_url';
}
