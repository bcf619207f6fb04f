import { lookUp } from '@gateway/contracts/look-up';
import type { Price } from '@gateway/contracts/models/price';
import { UnitPrices } from '@gateway/contracts/usage/usage-detail';
import type { Consumption, ToolCalls } from '@gateway/contracts/usage/usage-record';
import { imagePrice, ratesFor, type Tariff, tokensByKind } from './cost.ts';

type PriceKind = Exclude<keyof UnitPrices, 'toolCalls'>;

/** How much of each kind a consumption has. */
const amountsOf = (used: Consumption): Readonly<Record<PriceKind, number>> => ({
  ...tokensByKind(used),
  image: used.images,
  characters: used.characters,
  minute: used.audioMs,
  request: 1,
});

const MILLION = 1e6;
const THOUSAND = 1000;
/** How much of a kind makes one unit, where that is not a million. */
const UNITS: Readonly<Partial<Record<PriceKind, number>>> = { image: 1, minute: 60_000, request: 1 };

const KINDS = UnitPrices.omit({ toolCalls: true }).keyof().options;
const MICRO_PER_USD = 1e6;

/** The unit prices by which `costMicroUsd` prices a consumption: of what it has, and only those that are not 0. */
export function unitPricesOf(price: Price, consumption: Consumption, tariff: Tariff = {}): UnitPrices {
  const prices: Record<PriceKind, number | null | undefined> = {
    ...ratesFor(price, consumption, tariff),
    image: consumption.images === 0 ? undefined : imagePrice(price.perImage, tariff),
    characters: price.perMillionChars,
    minute: price.perMinute,
    request: price.perRequest,
  };
  const amounts = amountsOf(consumption);
  const paid: UnitPrices = {};
  for (const kind of KINDS) {
    const usd = prices[kind];
    if (usd && amounts[kind] > 0) paid[kind] = usd;
  }
  const tools = toolPricesOf(price, consumption.toolCalls ?? {});
  if (tools.length > 0) paid.toolCalls = Object.fromEntries(tools);
  return paid;
}

const toolPricesOf = ({ perThousandToolCalls = {} }: Price, calls: ToolCalls): [string, number][] =>
  Object.entries(calls).flatMap(([tool, count]): [string, number][] => {
    const usd = lookUp(perThousandToolCalls, tool);
    return usd && count > 0 ? [[tool, usd]] : [];
  });

/** One line of a request's bill. */
export interface CostPart {
  readonly kind: PriceKind | 'toolCall';
  /** The family of the tool that was called. */
  readonly tool?: string;
  /** Tokens, images, characters, milliseconds of audio, requests, or calls of the tool. */
  readonly amount: number;
  /** US dollars for so many of them. */
  readonly unitUsd: number;
  readonly unit: number;
  /** Not rounded. */
  readonly microUsd: number;
}

/** How a cost came about: each kind of consumption by its unit price. */
export function costParts(consumption: Consumption, unitPrices: UnitPrices): CostPart[] {
  const amounts = amountsOf(consumption);
  const parts = KINDS.flatMap((kind): CostPart[] => {
    const unitUsd = unitPrices[kind];
    if (unitUsd === undefined) return [];
    const [amount, unit] = [amounts[kind], UNITS[kind] ?? MILLION];
    return [{ kind, amount, unitUsd, unit, microUsd: (amount * unitUsd * MICRO_PER_USD) / unit }];
  });
  const tools = Object.entries(unitPrices.toolCalls ?? {}).map(([tool, unitUsd]): CostPart => {
    const amount = lookUp(consumption.toolCalls ?? {}, tool) ?? 0;
    const microUsd = (amount * unitUsd * MICRO_PER_USD) / THOUSAND;
    return { kind: 'toolCall', tool, amount, unitUsd, unit: THOUSAND, microUsd };
  });
  return [...parts, ...tools];
}
