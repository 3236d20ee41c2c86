import { paint } from './paint';
import { distanceText } from './wording';

/** As ISO 8601; on a terminal with how far off it is: `2026-05-01T10:00:00.000Z (3 min ago)`. */
export function instantText(at: string | Date | null, nowMs = Date.now()): string | null {
  if (at === null) return null;
  const instant = new Date(at);
  const iso = instant.toISOString();
  if (!process.stdout.isTTY) return iso;
  return `${iso} ${paint.faint(`(${distanceText(instant.getTime(), nowMs)})`)}`;
}
