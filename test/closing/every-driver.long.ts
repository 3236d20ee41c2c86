import { describeClosingOnTime } from './closes-on-time';

describeClosingOnTime('bullmq', () => ({}));
describeClosingOnTime('memory', () => ({}));
describeClosingOnTime('postgres', () => ({}));
