import { describeClosingOnTime } from './closes-on-time';

describeClosingOnTime('postgres', () => ({ REDIS_URL: '' }));
