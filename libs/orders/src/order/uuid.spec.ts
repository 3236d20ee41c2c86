import { isUuid, uuidv7 } from './uuid';

describe('uuidv7', () => {
  afterEach(() => jest.useRealTimers());

  it('is a UUID of version 7 that begins with the time', () => {
    jest.useFakeTimers({ now: 0x0123456789ab });
    const id = uuidv7();
    expect(isUuid(id)).toBe(true);
    expect(id).toMatch(/^01234567-89ab-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('sorts by time, and is never the same', () => {
    jest.useFakeTimers({ now: 1_000 });
    const early = Array.from({ length: 10_000 }, uuidv7);
    jest.setSystemTime(1_001);
    const late = uuidv7();
    expect(new Set(early).size).toBe(early.length);
    expect(early.every((id) => id < late)).toBe(true);
  });
});
