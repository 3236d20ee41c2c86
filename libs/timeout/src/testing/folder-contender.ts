// A process that wants folders for itself, each from an instant on, and tells whether it has it.
import { lockFolder } from '../drivers/wheel/folder-lock';

export interface Wanted {
  readonly folder: string;
  readonly fromMs: number;
}

process.on('message', ({ folder, fromMs }: Wanted) => {
  // Not by a timer: whoever contends is to begin at the same moment.
  while (Date.now() < fromMs);
  lockFolder(folder).then(
    () => process.send?.('has it'),
    (error: Error) => process.send?.(error.message),
  );
});
process.send?.('ready');
