import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Balance } from '../../api/types.ts';
import { type Filter, usageQuery } from '../traffic/usage-query.ts';
import { forecastOf } from './budget-forecast.ts';

interface ForecastProps {
  /** Undefined until it is known; null: there is no budget. */
  readonly of: Balance['budget'] | undefined;
  /** The usage that the budget pays for. */
  readonly only: Filter;
}

/** When a budget ends if as much is spent as in the last days. */
export function Forecast({ of: budget, only }: ForecastProps) {
  const hasBudget = budget !== undefined && budget !== null;
  const week = useQuery({
    ...usageQuery({ range: {}, fallback: '7d', groupBy: [], only }),
    enabled: hasBudget,
  });
  if (!hasBudget || week.data === undefined) return null;
  const spentUsd = (week.data.rows[0]?.costMicroUsd ?? 0) / 1e6;
  return <Text size="sm">{forecastOf(budget, spentUsd, Date.now())}</Text>;
}
