import { z } from 'zod';

/* What answers of several kinds have. */

export const instant = z.iso.datetime().meta({ examples: ['2026-01-31T12:00:00.000Z'] });
export const amount = z
  .int()
  .min(0)
  .describe('In minor units of the currency')
  .meta({ examples: [1250] });
export const sku = z.string().meta({ examples: ['TEA-SENCHA'] });
export const currency = z
  .string()
  .length(3)
  .describe('ISO 4217')
  .meta({ examples: ['EUR'] });
export const id = z.uuid().meta({ examples: ['0199a3c0-7b6e-7c53-9d6c-2f6f3a4c5d6e'] });
export const count = z.int().min(0);
