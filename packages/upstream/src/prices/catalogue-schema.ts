import { Price } from '@gateway/contracts/price';
import { z } from 'zod';
import { MODEL_KINDS } from '../protocol.ts';

const text = z.string().min(1);
const texts = z.array(text).optional();

/** A model of a provider, known by its id and by every name that fits one of the others. All are in lower case. */
export const PricedModel = z.strictObject({
  id: text,
  equals: texts,
  startsWith: texts,
  endsWith: texts,
  contains: texts,
  regex: texts,
  price: Price,
  contextWindow: z.int().min(1).optional(),
  /** Names that callers are shown where the configuration has only a pattern, and what they are for. */
  kind: z.enum(MODEL_KINDS).optional(),
  listed: texts,
});
export type PricedModel = z.infer<typeof PricedModel>;

/** What scripts/update-prices.ts writes. */
export const PriceCatalogue = z.strictObject({
  source: text,
  /** By the provider's name in that source. */
  providers: z.record(z.string(), z.array(PricedModel)),
});
export type PriceCatalogue = z.infer<typeof PriceCatalogue>;
