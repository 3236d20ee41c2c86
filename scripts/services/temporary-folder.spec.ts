import { temporaryFolder, temporaryFolders } from './temporary-folder.mjs';

it('never keeps in memory what has to survive', () => {
  expect(temporaryFolder({ durable: true })).not.toBe('/dev/shm');
});

it('is looked through for what was left behind, wherever it is', () => {
  for (const durable of [true, false]) {
    expect(temporaryFolders()).toContain(temporaryFolder({ durable }));
  }
});
