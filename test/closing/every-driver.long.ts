import { ownFolder } from '../support/own-folder';
import { describeClosingOnTime } from './closes-on-time';

const folder = ownFolder();

describeClosingOnTime('bullmq', () => ({}));
describeClosingOnTime('memory', () => ({}));
describeClosingOnTime('postgres', () => ({}));
describeClosingOnTime('redis-keyspace', () => ({}));
describeClosingOnTime('redis-list', () => ({}));
describeClosingOnTime('redis-zset', () => ({}));
describeClosingOnTime('wheel', () => ({ TIMER_WHEEL_FOLDER: folder }));
