import type { Charge } from '../ledger/charge.ts';

/** The response header in which callers are told that a budget comes to its end. */
export const BUDGET_HEADER = 'x-gateway-budget';

/** From this part of a budget on they are told, in percent. */
const SOON_PERCENT = 80;

/**
 * `used=83%` for the budget of which most is spent or reserved, once that is much of it; null before.
 *
 * @param remaining what is left of each charge, in their order
 */
export function budgetNotice(charges: readonly Charge[], remaining: readonly number[]): string | null {
  const used = charges.map((charge, index) => usedPercent(charge, remaining[index] ?? charge.limit));
  const most = Math.max(0, ...used);
  return most >= SOON_PERCENT ? `used=${most}%` : null;
}

const usedPercent = ({ kind, limit }: Charge, remaining: number): number =>
  kind === 'budget' && limit > 0 ? Math.floor((100 * (limit - remaining)) / limit) : 0;
