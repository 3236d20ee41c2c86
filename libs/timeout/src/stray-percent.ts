/** Told of an address with a password in it that was pasted as it is. */
export const STRAY_PERCENT_RULE = 'must write a "%" in a name or a password as %25';

/** True where what stands before the query of an address cannot be decoded: who connects would throw. */
export function hasStrayPercent(address: string): boolean {
  const [named = ''] = address.split('?', 1);
  try {
    decodeURIComponent(named);
    return false;
  } catch {
    return true;
  }
}
