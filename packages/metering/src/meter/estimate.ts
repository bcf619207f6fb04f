import type { Price } from '@gateway/contracts/models/price';
import type { Consumption, UsageResult } from '@gateway/contracts/usage/usage-record';
import { mostMicroUsd, type Tariff } from '../price/cost.ts';

/** A request's reservation, before its usage is known. A null price means that there is none. */
export const estimateOf = (
  price: Price | null,
  consumption: Consumption,
  tariff: Omit<Tariff, 'serviceTier'> = {},
): UsageResult => ({
  outcome: 'ok',
  channel: null,
  attempts: 0,
  durationMs: 0,
  firstByteMs: null,
  consumption,
  estimated: true,
  costMicroUsd: price && mostMicroUsd(price, consumption, tariff),
});
