/**
 * A TCP proxy on 127.0.0.1 that can be slow, go silent, cut connections or refuse them. Every
 * connection is served by one upstream connection of its own; order and content are kept.
 */
export declare class FaultyProxy {
  #private;
  private readonly targetPort;
  private constructor();
  static to(targetPort: number): Promise<FaultyProxy>;
  get port(): number;
  /** `url` with this proxy's address instead of the server's. */
  through(url: string): string;
  /** Everything takes so much longer, in each direction. */
  delay(latencyMs: number): void;
  /** Nothing comes through any more, and nobody is told: connections stay open. */
  pause(): void;
  resume(): void;
  /** Cuts every connection with a reset, as a firewall that was restarted does. */
  reset(): void;
  /** Cuts every connection and listens no more: connecting is refused. */
  refuse(): Promise<void>;
  restore(): Promise<void>;
  close(): Promise<void>;
}
