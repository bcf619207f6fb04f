import type { Model } from '../../api/types.ts';
import { price as money } from '../../parts/numbers.ts';

type Price = NonNullable<Model['price']>;

const MEMBERS = [
  ['inputPerMTok', 'Input', 'a million tokens'],
  ['cachedInputPerMTok', 'Input from the cache', 'a million tokens'],
  ['cacheWritePerMTok', 'Input written to the cache', 'a million tokens'],
  ['cacheWrite1hPerMTok', 'Input written to the cache for an hour', 'a million tokens'],
  ['outputPerMTok', 'Output', 'a million tokens'],
  ['reasoningPerMTok', 'Reasoning', 'a million tokens'],
  ['perMinute', 'Audio', 'a minute'],
  ['perMillionChars', 'Text to speak', 'a million characters'],
  ['perRequest', 'Each request', ''],
] as const;

/** What a model costs, a line for each kind of usage. */
export function priceLines(price: Price): (readonly [string, string])[] {
  const simple = MEMBERS.flatMap(([member, label, unit]) => {
    const value = price[member];
    return value === undefined ? [] : [[label, `${money(value)} ${unit}`.trim()] as const];
  });
  return [...simple, ...imageLines(price.perImage), ...furtherLines(price)];
}

function imageLines(perImage: Price['perImage']): (readonly [string, string])[] {
  if (perImage === undefined) return [];
  if (typeof perImage === 'number') return [['Each image', money(perImage)]];
  return Object.entries(perImage).flatMap(([size, inner]) =>
    typeof inner === 'number'
      ? [[`Image, ${size}`, money(inner)] as const]
      : Object.entries(inner).map(
          ([quality, value]) => [`Image, ${size}, ${quality}`, money(value)] as const,
        ),
  );
}

const furtherLines = ({ longContext, serviceTiers }: Price): (readonly [string, string])[] => [
  ...(longContext === undefined
    ? []
    : [
        [
          'Long input',
          `other prices above ${longContext.aboveInputTokens.toLocaleString('en')} tokens`,
        ] as const,
      ]),
  ...Object.keys(serviceTiers ?? {}).map((tier) => [`Service tier ${tier}`, 'prices of its own'] as const),
];

/** The most important prices in one line: `$1.25 in, $10 out`. */
export function priceSummary(price: Price): string {
  const { inputPerMTok, outputPerMTok } = price;
  if (inputPerMTok !== undefined || outputPerMTok !== undefined)
    return `${money(inputPerMTok ?? 0)} in, ${money(outputPerMTok ?? 0)} out`;
  return priceLines(price)[0]?.[1] ?? 'nothing';
}
