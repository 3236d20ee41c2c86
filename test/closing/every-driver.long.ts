import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeClosingOnTime } from './closes-on-time';

describeClosingOnTime('bullmq', () => ({}));
describeClosingOnTime('memory', () => ({}));
describeClosingOnTime('postgres', () => ({}));
describeClosingOnTime('redis-keyspace', () => ({}));
describeClosingOnTime('redis-list', () => ({}));
describeClosingOnTime('redis-zset', () => ({}));
describeClosingOnTime('wheel', () => ({
  TIMER_WHEEL_FOLDER: mkdtempSync(join(tmpdir(), 'lastcall-wheel-')),
}));
