import pg, { type CustomTypesConfig } from 'pg';

const { builtins } = pg.types;
const asItIs = (text: string): string => text;
const wholeNumber = (text: string): number => Number.parseInt(text, 10);
const json = (text: string): unknown => JSON.parse(text);

/** As node-postgres has them by itself. */
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  [builtins.BOOL]: (text) => text === 't',
  [builtins.INT2]: wholeNumber,
  [builtins.INT4]: wholeNumber,
  [builtins.OID]: wholeNumber,
  [builtins.INT8]: asItIs,
  [builtins.NUMERIC]: asItIs,
  [builtins.FLOAT4]: Number.parseFloat,
  [builtins.FLOAT8]: Number.parseFloat,
  [builtins.JSON]: json,
  [builtins.JSONB]: json,
  [builtins.BYTEA]: (text) => Buffer.from(text.slice(2), 'hex'),
  [builtins.TIMESTAMPTZ]: instantIn,
};

/** Of years before Christ, and of offsets with seconds, as some places had them, too. */
const INSTANT =
  /^(\d+)-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(\.\d+)?([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?( BC)?$/;

/** What Postgres writes by the ISO style; before and after all instants are numbers. */
function instantIn(text: string): Date | number | null {
  if (/^-?infinity$/.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  const match = INSTANT.exec(text);
  if (!match) return null;
  const [year, month, day, hours, minutes, seconds, fraction] = match.slice(1, 8).map(numberIn);
  const [offsetHours, offsetMinutes, offsetSeconds] = match.slice(9, 12).map(numberIn);
  const [, , , , , , , , sign, , , , isBeforeChrist] = match;
  const at = new Date(0);
  at.setUTCFullYear(isBeforeChrist ? 1 - year! : year!, month! - 1, day);
  at.setUTCHours(hours!, minutes, seconds, fraction! * 1_000);
  const offsetMs = ((offsetHours! * 60 + offsetMinutes!) * 60 + offsetSeconds!) * 1_000;
  return new Date(at.getTime() - (sign === '-' ? -offsetMs : offsetMs));
}

const numberIn = (text: string | undefined): number => Number(text ?? 0);

/**
 * How values are taken apart for our statements. A host may have told node-postgres otherwise for all of its process
 * (`types.setTypeParser`), as who wants instants as texts does.
 */
export const OWN_TYPES: CustomTypesConfig = {
  getTypeParser: (oid: number, format: 'text' | 'binary' = 'text'): unknown =>
    // Of what is not there we read nothing.
    (format === 'text' ? PARSERS[oid] : undefined) ?? ofProcess(oid, format),
};

const ofProcess = pg.types.getTypeParser as (oid: number, format: string) => unknown;

/** And for the host's own statements, on our connections: as it has told. */
export const HOSTS_TYPES: CustomTypesConfig = pg.types;
