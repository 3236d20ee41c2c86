import '../../apps/api/src/main';
import { GroupCommit } from '@app/orders';

interface Parts {
  carryOut(requests: readonly unknown[]): Promise<readonly unknown[]>;
}

/** The very same API, but every request is a group of its own, in a transaction of its own. */
GroupCommit.prototype.submit = async function (request: unknown) {
  const [result] = await (this as unknown as Parts).carryOut([request]);
  return result as never;
};
