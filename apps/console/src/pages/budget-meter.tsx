import { Text } from '@mantine/core';
import type { Balance } from '../api/types.ts';
import { Meter } from '../parts/meter.tsx';
import { usd } from '../parts/numbers.ts';
import { periodLabel } from './limits.ts';

type Budget = NonNullable<Balance['budget']>;

interface BudgetMeterProps {
  readonly of: { usd: number; period: string } | null;
  /** Null: it is not known yet. */
  readonly balance: Budget | null;
  /** Whether the figures are what is spent, or what remains. */
  readonly says: 'spent' | 'left';
}

/** A budget and how much of it is used. */
export function BudgetMeter({ of, balance, says }: BudgetMeterProps) {
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
  const whole = `${usd(of.usd)} ${periodLabel(of.period)}`;
  const figures =
    says === 'spent'
      ? { left: balance === null ? '…' : usd(spent), right: `of ${whole}` }
      : { left: 'Budget', right: `${balance === null ? '…' : usd(balance.remainingUsd)} of ${whole} left` };
  return (
    <Meter
      label={`Budget of ${whole}`}
      used={share(spent)}
      reserved={of.usd === 0 ? 0 : share(reserved)}
      {...figures}
    />
  );
}
