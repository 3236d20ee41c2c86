/** The provider's idempotency key of an attempt: the refund's id, then the id with a number. */
export function refundKey(refundId: string, attempt: number): string {
  return attempt === 1 ? refundId : `${refundId}-${attempt}`;
}

/** Reads {@link refundKey} back; undefined when the key is none of ours. */
export function parseRefundKey(key: string): { refundId: string; attempt: number } | undefined {
  const match = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-(\d{1,4}))?$/.exec(key);
  if (!match) return undefined;
  return { refundId: match[1] as string, attempt: Number(match[2] ?? 1) };
}

/** Of one refund, whichever attempts at it they are. */
export function isOfSameRefund(key: string, other: string): boolean {
  const refundId = parseRefundKey(key)?.refundId;
  return key === other || (refundId !== undefined && refundId === parseRefundKey(other)?.refundId);
}
