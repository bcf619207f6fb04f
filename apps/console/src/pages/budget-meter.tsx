import { Text } from '@mantine/core';
import type { Balance } from '../api/types.ts';
import { Meter } from '../parts/meter.tsx';
import { usd } from '../parts/numbers.ts';
import { periodLabel } from './limits.ts';

type Budget = NonNullable<Balance['budget']>;

/** What is spent of a budget; `of` is the budget, while what is spent of it is not known yet. */
export function BudgetMeter({
  of,
  balance,
}: {
  of: { usd: number; period: string } | null;
  balance: Budget | null;
}) {
  if (of === null)
    return (
      <Text size="xs" c="dimmed">
        No budget
      </Text>
    );
  const spent = balance?.spentUsd ?? 0;
  const reserved = balance?.reservedUsd ?? 0;
  // A budget of nothing is used up.
  const share = (part: number): number => (of.usd === 0 ? 1 : part / of.usd);
  return (
    <Meter
      label={`Budget of ${usd(of.usd)} ${periodLabel(of.period)}`}
      used={share(spent)}
      reserved={of.usd === 0 ? 0 : share(reserved)}
      left={balance === null ? '…' : usd(spent)}
      right={`of ${usd(of.usd)} ${periodLabel(of.period)}`}
    />
  );
}
