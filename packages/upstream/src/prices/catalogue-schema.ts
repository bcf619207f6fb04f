import { Price } from '@gateway/contracts/models/price';
import { z } from 'zod';
import { MODEL_KINDS } from '../protocol.ts';

const ToolPrices = Price.shape.perThousandToolCalls.unwrap();
export type ToolPrices = z.infer<typeof ToolPrices>;

const text = z.string().min(1);
const texts = z.array(text).optional();

/** A model of a provider, with its id and patterns for its other names. All are in lower case. */
export const PricedModel = z.strictObject({
  id: text,
  equals: texts,
  startsWith: texts,
  endsWith: texts,
  contains: texts,
  regex: texts,
  price: Price,
  contextWindow: z.int().min(1).optional(),
  /** Names to show if the configuration has only a pattern, with their kinds. */
  kind: z.enum(MODEL_KINDS).optional(),
  listed: texts,
});
export type PricedModel = z.infer<typeof PricedModel>;

/** The file that scripts/update-prices.ts writes. */
export const PriceCatalogue = z.strictObject({
  source: text,
  /** By the provider's name in that source. */
  providers: z.record(z.string(), z.array(PricedModel)),
  /** What the tools that a provider runs cost with each of its text models. */
  tools: z.record(z.string(), ToolPrices).optional(),
});
export type PriceCatalogue = z.infer<typeof PriceCatalogue>;
