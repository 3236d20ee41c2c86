import { Logger } from '@nestjs/common';
import { hostTelemetry } from './host-telemetry';

it('tells the logger of a failure that comes again and again once', () => {
  const said: string[] = [];
  const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation((text: unknown) => {
    said.push(String(text));
  });
  const telemetry = hostTelemetry();
  for (let n = 0; n < 100; n += 1) telemetry.failed('redis', new Error('connect ECONNREFUSED'));
  telemetry.failed('sweep', 'no answer');
  warn.mockRestore();
  expect(said).toEqual(['redis: connect ECONNREFUSED', 'sweep: no answer']);
});
