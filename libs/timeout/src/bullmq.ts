/** What `@lastcall/timeout/bullmq` offers: alarms as delayed jobs. Given `redis`, it is chosen by itself. */
export { BullmqDriver } from './drivers/bullmq/bullmq.driver';
export type { BullmqDriverOptions } from './drivers/bullmq/bullmq.options';
