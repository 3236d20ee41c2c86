import { describeLock } from './lock.contract';
import { NoopLock } from './noop.lock';

describeLock('NoopLock', { create: () => new NoopLock(), excludes: false });
