import { HandlesDeadline } from '@app/timeout/module';
import type { DeadlineKind } from './deadline-table';

/** `@HandlesDeadline` for the kinds of deadline-table.ts alone. */
export const HandlesKind: (kind: DeadlineKind) => ClassDecorator = HandlesDeadline;
