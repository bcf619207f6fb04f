import type { Price } from '@gateway/contracts/models/price';
import type { Consumption, UsageRecord } from '@gateway/contracts/usage/usage-record';
import { costMicroUsd, type Tariff } from '@gateway/metering/price/cost';
import type { PriceSheet, SheetRoute } from './price-sheet.ts';

/** What one request costs in the configuration in use and in the draft, in micro-dollars. */
export interface PricedRecord {
  readonly beforeMicroUsd: number;
  readonly afterMicroUsd: number;
  /** The draft shares such requests out among other channels: which one it would have been is not known. */
  readonly isMoved: boolean;
  /** Where the draft sends it, by the parts of it that each channel gets. */
  readonly channels: readonly {
    readonly channel: string;
    readonly share: number;
    readonly microUsd: number;
  }[];
}

/**
 * Why nothing is said of a request: `unpriced` before, or in the draft; `unclear` which price was charged, such as that of a size or a
 * service tier, since a record does not have them; `unserved` by the draft, or not known to the configuration in use.
 */
export type Unpriced = 'unpriced' | 'unpricedInDraft' | 'unclear' | 'unserved' | 'unknown';

/** Of a sum of several requests each is rounded by itself. */
const ROUNDING_MICRO_USD = 2;

/** Null: it consumed nothing and costs nothing. */
export function pricedRecord(
  record: UsageRecord,
  before: PriceSheet,
  after: PriceSheet,
): PricedRecord | Unpriced | null {
  const { consumption, channel } = record;
  if (record.costMicroUsd === 0 && isNothing(consumption)) return null;
  if (before === null) return 'unknown';
  if (after === null) return 'unserved';
  const taken = before.filter((route) => channel === null || route.channel === channel);
  if (taken.length === 0) return 'unknown';
  if (taken.every(({ price }) => price === null)) return 'unpriced';
  const charged = chargedBy(taken, record);
  if (charged === null) return 'unclear';
  const { route, tariff } = charged;
  const shares = isRoutedAlike(before, after) ? null : after.filter(({ share }) => share > 0);
  const same = after.find((one) => one.channel === route.channel && one.model === route.model);
  const ways =
    shares ?? (same === undefined ? after.filter(({ share }) => share > 0) : [{ ...same, share: 1 }]);
  const channels: PricedRecord['channels'][number][] = [];
  for (const { channel: name, price, share } of ways) {
    if (price === null) return 'unpricedInDraft';
    channels.push({ channel: name, share, microUsd: share * costMicroUsd(price, consumption, tariff) });
  }
  return {
    beforeMicroUsd: costMicroUsd(route.price, consumption, tariff),
    afterMicroUsd: channels.reduce((sum, { microUsd }) => sum + microUsd, 0),
    isMoved: shares !== null,
    channels,
  };
}

/** The route and the tariff that were charged: the only ones that there are, else those that come to what was recorded. */
function chargedBy(routes: readonly SheetRoute[], { consumption, costMicroUsd: recorded }: UsageRecord) {
  const ways = routes.flatMap(({ price, ...route }) =>
    price === null ? [] : tariffsOf(price).map((tariff) => ({ route: { ...route, price }, tariff })),
  );
  const [only] = ways;
  if (only === undefined || ways.length === 1) return only ?? null;
  const isCharged = ({ route, tariff }: (typeof ways)[number]): boolean =>
    recorded !== null &&
    Math.abs(costMicroUsd(route.price, consumption, tariff) - recorded) <= ROUNDING_MICRO_USD;
  return ways.find(isCharged) ?? null;
}

/** Every tariff that makes a difference to a price, the usual one first. */
function tariffsOf({ serviceTiers = {}, perImage }: Price): readonly Tariff[] {
  if (typeof perImage !== 'object')
    return [{}, ...Object.keys(serviceTiers).map((serviceTier) => ({ serviceTier }))];
  return Object.entries(perImage).flatMap(([name, entry]): Tariff[] =>
    typeof entry === 'number'
      ? [{ imageSize: name }, { imageQuality: name }]
      : Object.keys(entry).map((imageQuality) => ({ imageSize: name, imageQuality })),
  );
}

/** Whether requests go the same ways, whatever these charge. */
function isRoutedAlike(before: readonly SheetRoute[], after: readonly SheetRoute[]): boolean {
  const shares = (routes: readonly SheetRoute[]): string =>
    JSON.stringify(
      routes
        .filter(({ share }) => share > 0)
        .map(({ channel, model, share }) => [channel, model, share])
        .toSorted(),
    );
  return shares(before) === shares(after);
}

const isNothing = (used: Consumption): boolean =>
  used.inputTokens + used.outputTokens + used.images + used.characters + used.audioMs === 0;
