/** What the benchmarks use of autocannon, which ships no types. */
declare module 'autocannon' {
  interface Request {
    readonly method?: string;
    readonly path?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
    /** Called before each request is sent; answers with what to send. */
    readonly setupRequest?: (request: Request) => Request;
  }

  interface Options {
    readonly url: string;
    readonly connections: number;
    readonly duration?: number;
    readonly amount?: number;
    /** Requests a second of all connections together. */
    readonly overallRate?: number;
    readonly timeout?: number;
    readonly requests: readonly Request[];
  }

  interface Result {
    /** Seconds. */
    readonly duration: number;
    readonly latency: Readonly<Record<'p50' | 'p90' | 'p99' | 'max', number>>;
    readonly '2xx': number;
    readonly non2xx: number;
    readonly errors: number;
    readonly timeouts: number;
  }

  interface Run extends Promise<Result> {
    on(
      event: 'response',
      hear: (client: unknown, status: number, bytes: number, tookMs: number) => void,
    ): this;
  }

  export default function autocannon(options: Options): Run;
}
