import { alarmIn } from './alarm-message';

it('reads an alarm', () => {
  const alarm = { id: 'alarm', atMs: 1_763_900_000_000 };
  expect(alarmIn(JSON.stringify({ ...alarm, more: true }))).toEqual(alarm);
});

it.each([
  ...['', 'no alarm of ours', 'null', '7', '[]', '{}'],
  ...['{"id":7,"atMs":0}', '{"id":"a"}', '{"id":"a","atMs":"0"}', '{"id":"a","atMs":1e300}'],
])('finds no alarm in %p', (text) => {
  expect(alarmIn(text)).toBeUndefined();
});
