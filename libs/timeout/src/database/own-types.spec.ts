import { types } from 'pg';
import { OWN_TYPES } from './own-types';

const { builtins } = types;
/** Nobody has told otherwise in this process. */
const byItself = (oid: number, text: string): unknown =>
  (types.getTypeParser(oid) as (text: string) => unknown)(text);
const byUs = (oid: number, text: string): unknown =>
  (OWN_TYPES.getTypeParser(oid) as (text: string) => unknown)(text);

it.each([
  ...['2026-12-01 11:00:00.123456+00', '2026-12-01 11:00:00+05:30', 'infinity', '-infinity'],
  ...['0044-03-15 12:00:00+00 BC', '0050-01-01 00:00:00-00:19:32', '12026-12-01 11:00:00+00'],
  ...['1969-12-31 23:59:59.9+00', '2024-02-29 00:00:00-12', 'tomorrow'],
])('reads an instant as node-postgres does by itself: %s', (text) => {
  expect(byUs(builtins.TIMESTAMPTZ, text)).toEqual(byItself(builtins.TIMESTAMPTZ, text));
});

it.each([
  ...([
    ['BOOL', 't'],
    ['BOOL', 'f'],
    ['INT2', '-7'],
    ['INT4', '7'],
    ['OID', '4294967295'],
  ] as const),
  ...([
    ['INT8', '9007199254740993'],
    ['NUMERIC', '1.50'],
    ['FLOAT4', '1.5'],
  ] as const),
  ...([
    ['FLOAT8', 'NaN'],
    ['FLOAT8', '-Infinity'],
    ['JSON', '{"a":1}'],
  ] as const),
  ...([
    ['JSONB', 'null'],
    ['BYTEA', '\\x00ff'],
    ['TEXT', 'a text'],
    ['UUID', 'an id'],
  ] as const),
])('reads a value as node-postgres does by itself: %s %s', (name, text) => {
  expect(byUs(builtins[name], text)).toEqual(byItself(builtins[name], text));
});
