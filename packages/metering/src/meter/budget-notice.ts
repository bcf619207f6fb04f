import type { Charge } from '../ledger/charge.ts';

/** The response header that warns callers of a budget that is nearly spent. */
export const BUDGET_HEADER = 'x-gateway-budget';

/** The warning begins at this part of a budget, in percent. */
const SOON_PERCENT = 80;

/**
 * `used=83%` for the budget that is spent or reserved most, from `SOON_PERCENT` on; null before.
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
