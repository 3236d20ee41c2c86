// The types of index.mjs, for the TypeScript sources that import it.

export interface Service {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Where the data really is: root's private folders are closed to the user of Postgres. */
  readonly dataDir: string;
  /** Resolves, with how it ended, when the process is gone. */
  readonly exited: Promise<string>;
  stop(): Promise<void>;
}

type Settings = Readonly<Record<string, string | number>>;
type Say = (line: string) => void;

export function startPostgres(options: {
  dataDir: string;
  /** Of the superuser `lastcall`; counts when the data folder is made. */
  password: string;
  logFile: string;
  /** A free one if absent. */
  port?: number | undefined;
  /** false: throw-away data, nothing is flushed to disk. */
  durable: boolean;
  settings?: Settings | undefined;
  say?: Say | undefined;
}): Promise<Service>;

export function startRedis(options: {
  dataDir: string;
  logFile: string;
  /** A free one if absent. */
  port?: number | undefined;
  /** true: every write is on disk within a second; false: memory only. */
  durable: boolean;
  password?: string | undefined;
  /** Found if absent. */
  binary?: string | undefined;
  settings?: Settings | undefined;
  say?: Say | undefined;
}): Promise<Service>;

/** A program that behaves like redis-server; throws, saying what to install, if there is none. */
export function findRedisBinary(say: Say): string;

export function startThrowawayServices(options?: {
  /** true: flush to disk as in production, for honest measurements. */
  durable?: boolean | undefined;
  /** The folder to make theirs in; the system's temporary one if absent. */
  base?: string | undefined;
  postgresSettings?: Settings | undefined;
  redisSettings?: Settings | undefined;
  say?: Say | undefined;
}): Promise<{
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly redisBinary: string;
  /** Stops them and removes their data. */
  stop(): Promise<void>;
}>;

/** Another process may still take it before its user does. */
export function freePort(): Promise<number>;

/** A zombie counts as dead. */
export function isAlive(pid: number): boolean;
