import { z } from 'zod';
import { readInput } from './read-input';

const schema = z.strictObject({ names: z.array(z.string()), isNew: z.boolean().optional() });

describe('readInput', () => {
  it.each<[unknown, string]>([
    [null, 'body: must be an object'],
    [[], 'body: must be an object'],
    ['text', 'body: must be an object'],
    [undefined, 'body: is missing'],
    [{}, 'names: is missing'],
    [{ names: 'ann' }, 'names: must be a list'],
    [{ names: [7] }, 'names[0]: must be a text'],
    [{ names: [], isNew: 'yes' }, 'isNew: must be true or false'],
  ])('says of %j what it has to be', (input, message) => {
    expect(() => readInput(schema, input)).toThrow(message);
  });
});
