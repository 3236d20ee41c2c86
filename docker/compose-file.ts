import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

interface Service {
  readonly image?: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: object;
  readonly restart?: string;
  readonly entrypoint?: readonly string[];
  readonly user?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly privileged?: boolean;
  readonly mem_limit?: string;
  readonly cpus?: number | string;
  readonly pids_limit?: number;
  readonly tmpfs?: readonly string[];
  readonly networks?: readonly string[];
  readonly configs?: readonly { readonly source: string }[];
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly configs?: Readonly<Record<string, { readonly file?: string }>>;
}

// Nest's OpenAPI module parses YAML, and so do we with what it brings.
// Version 1.1 is the one with merge keys (`<<`), which Compose understands as well.
const { load, YAML11_SCHEMA } = createRequire(require.resolve('@nestjs/swagger'))('js-yaml') as {
  load(this: void, text: string, options: { schema: unknown }): unknown;
  YAML11_SCHEMA: unknown;
};

export const compose = load(readFileSync(join(__dirname, 'compose.yaml'), 'utf8'), {
  schema: YAML11_SCHEMA,
}) as Compose;
