/** What is due is to be handled within so long, whatever has happened to its alarm: three sweeps. */
export const SERVICE_LEVEL_MS = 30_000;
