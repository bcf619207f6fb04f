import type { Price } from '@gateway/contracts/models/price';

/** Whether tokens cost anything of their own, so that they have to be estimated. */
export const paysTokens = (price: Price | null): boolean =>
  price?.inputPerMTok !== undefined || price?.outputPerMTok !== undefined;
