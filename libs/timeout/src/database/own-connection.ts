import { errorChain } from './database-errors';

/** What our own connections have said, or that they are lost. */
const ours = new WeakSet<object>();

/** To be called with each error of a connection of ours, as it comes. */
export function ofOwnConnection(error: unknown): void {
  if (typeof error === 'object' && error !== null) ours.add(error);
}

/** True for an error of a connection of ours, however it is wrapped; a handler may have other databases. */
export const isOfOwnConnection = (error: unknown): boolean =>
  [...errorChain(error)].some((one) => ours.has(one));
