import { describeClosingOnTime } from './closes-on-time';

describeClosingOnTime('bullmq', () => ({}));
describeClosingOnTime('memory', () => ({}));
describeClosingOnTime('postgres', () => ({}));
describeClosingOnTime('redis-keyspace', () => ({}));
describeClosingOnTime('redis-list', () => ({}));
describeClosingOnTime('redis-zset', () => ({}));
