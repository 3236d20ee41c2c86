import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

/** As PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** An authority of a test's own. */
export interface Authority extends Certificate {
  /** A certificate for whoever is at 127.0.0.1, for an hour. */
  issue(name: string): Certificate;
}

export function makeAuthority(name: string): Authority {
  const own = newCertificate(name, { name, isAuthority: true });
  const key = createPrivateKey(own.key);
  return { ...own, issue: (of) => newCertificate(of, { name, key }) };
}

interface Issuer {
  readonly name: string;
  /** Its own, for one that it issues to itself. */
  readonly key?: KeyObject;
  readonly isAuthority?: boolean;
}

const HOUR_MS = 3_600_000;

function newCertificate(subject: string, issuer: Issuer): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const now = Date.now();
  const signed = der(
    SEQUENCE,
    der(0xa0, der(INTEGER, Buffer.from([2]))),
    der(INTEGER, Buffer.from([1, ...Buffer.from(String(process.hrtime.bigint()))])),
    ECDSA_WITH_SHA256,
    nameOf(issuer.name),
    der(SEQUENCE, timeOf(now - HOUR_MS), timeOf(now + HOUR_MS)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(SEQUENCE, issuer.isAuthority ? MAY_ISSUE : AT_LOOPBACK)),
  );
  const signature = sign('sha256', signed, issuer.key ?? privateKey);
  const whole = der(SEQUENCE, signed, ECDSA_WITH_SHA256, bits(signature));
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${whole.toString('base64')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/* X.509 as RFC 5280 has it, in ASN.1's DER. */

const [INTEGER, SEQUENCE, SET, OCTETS, TEXT, TIME] = [0x02, 0x30, 0x31, 0x04, 0x0c, 0x18];

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const lengths = length < 0x80 ? [length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...lengths]), content]);
}

const id = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const bits = (content: Buffer): Buffer => der(0x03, Buffer.from([0]), content);
const nameOf = (text: string): Buffer =>
  der(SEQUENCE, der(SET, der(SEQUENCE, id('550403'), der(TEXT, Buffer.from(text)))));
const timeOf = (ms: number): Buffer =>
  der(TIME, Buffer.from(`${new Date(ms).toISOString().replaceAll(/\.\d+|\D/g, '')}Z`));

const ECDSA_WITH_SHA256 = der(SEQUENCE, id('2a8648ce3d040302'));
const TRUE = der(0x01, Buffer.from([0xff]));
/** Basic constraints, critical: an authority. */
const MAY_ISSUE = der(SEQUENCE, id('551d13'), TRUE, der(OCTETS, der(SEQUENCE, TRUE)));
/** Another name of its subject: an address. */
const AT_LOOPBACK = der(
  SEQUENCE,
  id('551d11'),
  der(OCTETS, der(SEQUENCE, der(0x87, Buffer.from([127, 0, 0, 1])))),
);
