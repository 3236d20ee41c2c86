/** What `@lastcall/timeout/testing` offers: days that pass at once. */
export { TimeoutTesting, type TimeoutTestingOptions } from './host/timeout-testing';
