import type { Price } from '@gateway/contracts/models/price';

/** More than any price list has. */
const DECIMALS = 9;

/** A price at a route that charges another one for the same model: every amount in it, by the same factor. */
export const scaledPrice = (price: Price, factor: number): Price => ({
  ...scaledAmounts(price, factor),
  ...(price.longContext && {
    longContext: {
      ...scaledAmounts(price.longContext, factor),
      aboveInputTokens: price.longContext.aboveInputTokens,
    },
  }),
});

/** With every number in it multiplied, however deep it lies. */
function scaledAmounts<Amounts extends object>(amounts: Amounts, factor: number): Amounts {
  const scaled = { ...amounts };
  for (const [name, value] of Object.entries(amounts))
    Reflect.set(
      scaled,
      name,
      typeof value === 'number'
        ? Number((value * factor).toFixed(DECIMALS))
        : scaledAmounts(Object(value), factor),
    );
  return scaled;
}
