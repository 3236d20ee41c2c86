// Where the output of a service goes, and its last lines when the service fails.
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';

const LOG_LIMIT_BYTES = 10 * 1024 * 1024;
const TAIL_BYTES = 8 * 1024;

/**
 * Opens a log for appending. A log over the limit is set aside first, replacing the one set
 * aside before, so that logs never grow beyond twice the limit and one run.
 * @param {string} file
 * @returns {{ fd: number, from: number, close(): void }} `from`: where this run's output begins
 */
export function openLog(file) {
  mkdirSync(dirname(file), { recursive: true });
  if (existsSync(file) && statSync(file).size > LOG_LIMIT_BYTES) renameSync(file, `${file}.1`);
  const fd = openSync(file, 'a', 0o600);
  return { fd, from: statSync(file).size, close: () => closeSync(fd) };
}

/**
 * @param {string} file
 * @param {{ from?: number, lines?: number }} [options]
 */
export function lastLines(file, { from = 0, lines = 12 } = {}) {
  if (!existsSync(file)) return '';
  const end = statSync(file).size;
  const start = Math.max(from, end - TAIL_BYTES);
  const buffer = Buffer.alloc(Math.max(end - start, 0));
  const fd = openSync(file, 'r');
  try {
    readSync(fd, buffer, 0, buffer.length, start);
  } finally {
    closeSync(fd);
  }
  return buffer.toString('utf8').trimEnd().split('\n').slice(-lines).join('\n');
}
