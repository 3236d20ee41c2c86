import * as fc from 'fast-check';
import { durationText, parseDuration } from './duration';

describe('parseDuration', () => {
  it.each([
    ['250ms', 250],
    ['10s', 10_000],
    ['10m', 600_000],
    ['2h', 7_200_000],
    ['30d', 2_592_000_000],
    [' 1s ', 1_000],
    ['0ms', 0],
  ])('reads %s', (text, durationMs) => expect(parseDuration(text)).toBe(durationMs));

  it.each([
    '',
    '10',
    's',
    '-1s',
    '1.5s',
    '1 s',
    '1w',
    '1e3ms',
    '10S',
    'off',
    '4000d',
    '9999999999999s',
  ])('refuses "%s"', (text) => expect(parseDuration(text)).toBeUndefined());

  it('never reads something that no instant can hold', () => {
    fc.assert(
      fc.property(fc.nat(1e9), fc.constantFrom('ms', 's', 'm', 'h', 'd'), (n, unit) => {
        const durationMs = parseDuration(`${n}${unit}`);
        return (
          durationMs === undefined || Number.isFinite(new Date(Date.now() + durationMs).getTime())
        );
      }),
    );
  });
});

describe('durationText', () => {
  it.each([
    [0, '0ms'],
    [90_000, '90s'],
    [600_000, '10m'],
    [2_592_000_000, '30d'],
    [1_001, '1001ms'],
  ])('writes %d as parseDuration reads it', (durationMs, text) => {
    expect(durationText(durationMs)).toBe(text);
    expect(parseDuration(text)).toBe(durationMs);
  });
});
