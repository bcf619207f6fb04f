import { Stack } from '@mantine/core';
import type { Balance } from '../api/types.ts';
import { Meter } from '../parts/meter.tsx';
import { wholeNumber } from '../parts/numbers.ts';
import { BudgetMeter } from './budget-meter.tsx';
import { limitLabel } from './limits.ts';

interface BalanceMetersProps {
  readonly of: { readonly budget: { usd: number; period: string } | null };
  /** Undefined until it is known. */
  readonly balance: Balance | undefined;
}

/** What is left at this moment of a budget and of each limit. */
export const BalanceMeters = ({ of, balance }: BalanceMetersProps) => (
  <Stack gap="sm">
    <BudgetMeter of={of.budget} balance={balance?.budget ?? null} says="left" />
    {balance?.limits.map(({ limit, model, value, remaining }) => (
      <Meter
        key={`${limit} ${model}`}
        label={limitLabel(limit)}
        used={(value - remaining) / value}
        left={`${limitLabel(limit)}${model === null ? '' : `, ${model}`}`}
        right={`${wholeNumber(remaining)} of ${wholeNumber(value)} left`}
      />
    ))}
  </Stack>
);
