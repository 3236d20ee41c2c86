/**
 * As long as a customer who cancels may be kept waiting for the provider. Not a constant: tests share a machine
 * whose cores may be busy for longer, and mean another provider that does not answer.
 */
export const ANSWERING = { limitMs: 1_500 };
