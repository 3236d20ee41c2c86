/** A deadline as a host arms it. */
export interface HostDeadline {
  /** What must happen; a `@DeadlineHandler` answers for it. At most 500 bytes. */
  readonly kind: string;
  /** What it must happen to, by the host's own id: any text of at most 2,000 bytes. */
  readonly subjectId: string;
  /** In the years 1 to 9999; what is past is due at once. */
  readonly dueAt: Date;
}

export type SubjectRef = Pick<HostDeadline, 'kind' | 'subjectId'>;
