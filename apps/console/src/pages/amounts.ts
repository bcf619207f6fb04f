import type { Period } from './limits.ts';

/** Numbers as an input has them: '' is none. */
export type Amounts = Readonly<Record<string, number | string>>;

export interface BudgetValues {
  readonly usd: number | string;
  readonly period: Period;
  readonly allowUnpriced: boolean;
}

type Budget = { usd: number; period: Period; allowUnpriced: boolean };

export const amountsOf = (
  names: readonly string[],
  values: Readonly<Record<string, unknown>>,
): Record<string, number | string> =>
  Object.fromEntries(
    names.map((name) => {
      const value = values[name];
      return [name, typeof value === 'number' ? value : ''];
    }),
  );

export const numberOrNull = (value: number | string | undefined): number | null =>
  value === undefined || value === '' ? null : Number(value);

export const budgetValuesOf = (budget: Budget | null): BudgetValues => ({
  usd: budget?.usd ?? '',
  period: budget?.period ?? 'month',
  allowUnpriced: budget?.allowUnpriced ?? false,
});

export const budgetOf = ({ usd, period, allowUnpriced }: BudgetValues): Budget | null =>
  usd === '' ? null : { usd: Number(usd), period, allowUnpriced };

/** A merge patch as the body of a POST, which has no null: what is not set is left out, at every depth. */
export const withoutNulls = <Body>(patch: object): Body =>
  JSON.parse(JSON.stringify(patch, (_name, member: unknown) => member ?? undefined));
