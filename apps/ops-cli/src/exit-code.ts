/** What the shell is told; part of the contract (docs/cli.md). */
export const EXIT = {
  done: 0,
  unexpected: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  partlyFailed: 5,
  dependencyDown: 6,
  findings: 7,
  confirmationNeeded: 8,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
