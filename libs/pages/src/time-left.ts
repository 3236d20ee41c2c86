/** Said aloud by screen readers, and nothing between: 5, 2, 1 min, 30, 20, 10 s. */
const ANNOUNCED_S = [10, 20, 30, 60, 120, 300];

/** Digits as 9:05, with hours where there are any; the last second is shown as long as it lasts. */
export function clockText(msLeft: number): string {
  const seconds = Math.ceil(msLeft / 1_000);
  const minutes = Math.floor(seconds / 60);
  const rest = twoDigits(seconds % 60);
  if (minutes < 60) return `${minutes}:${rest}`;
  return `${Math.floor(minutes / 60)}:${twoDigits(minutes % 60)}:${rest}`;
}

const twoDigits = (count: number): string => String(count).padStart(2, '0');

/** The last announced mark that was passed, in seconds; undefined while more than all is left. */
export function announcedAt(msLeft: number): number | undefined {
  return ANNOUNCED_S.find((seconds) => msLeft <= seconds * 1_000);
}
