import type { Model } from '../../api/types.ts';
import { price as money } from '../../parts/numbers.ts';

type Price = NonNullable<Model['price']>;

const MEMBERS = [
  ['inputPerMTok', 'Input', 'per million tokens'],
  ['cachedInputPerMTok', 'Cached input', 'per million tokens'],
  ['cacheWritePerMTok', 'Cache writes', 'per million tokens'],
  ['cacheWrite1hPerMTok', 'One-hour cache writes', 'per million tokens'],
  ['outputPerMTok', 'Output', 'per million tokens'],
  ['reasoningPerMTok', 'Reasoning', 'per million tokens'],
  ['audioInputPerMTok', 'Audio input', 'per million tokens'],
  ['cachedAudioInputPerMTok', 'Cached audio input', 'per million tokens'],
  ['imageInputPerMTok', 'Image input', 'per million tokens'],
  ['cachedImageInputPerMTok', 'Cached image input', 'per million tokens'],
  ['audioOutputPerMTok', 'Audio output', 'per million tokens'],
  ['perMinute', 'Audio', 'per minute'],
  ['perMillionChars', 'Text to speak', 'per million characters'],
  ['perRequest', 'Per request', ''],
] as const;

/** What a model costs, a line for each kind of usage. */
export function priceLines(price: Price): (readonly [string, string])[] {
  const simple = MEMBERS.flatMap(([member, label, unit]) => {
    const value = price[member];
    return value === undefined ? [] : [[label, `${money(value)} ${unit}`.trim()] as const];
  });
  return [...simple, ...imageLines(price.perImage), ...toolLines(price), ...furtherLines(price)];
}

function imageLines(perImage: Price['perImage']): (readonly [string, string])[] {
  if (perImage === undefined) return [];
  if (typeof perImage === 'number') return [['Per image', money(perImage)]];
  return Object.entries(perImage).flatMap(([size, inner]) =>
    typeof inner === 'number'
      ? [[`Image, ${size}`, money(inner)] as const]
      : Object.entries(inner).map(
          ([quality, value]) => [`Image, ${size}, ${quality}`, money(value)] as const,
        ),
  );
}

const toolLines = ({ perThousandToolCalls = {} }: Price): (readonly [string, string])[] =>
  Object.entries(perThousandToolCalls).map(
    ([tool, value]) => [`Tool ${tool}`, `${money(value)} per 1,000 calls`] as const,
  );

const furtherLines = ({ longContext, serviceTiers }: Price): (readonly [string, string])[] => [
  ...(longContext === undefined
    ? []
    : [
        [
          'Long input',
          `different prices above ${longContext.aboveInputTokens.toLocaleString('en')} tokens`,
        ] as const,
      ]),
  ...Object.keys(serviceTiers ?? {}).map((tier) => [`Service tier ${tier}`, 'separate prices'] as const),
];

/** The most important prices in one line: `$1.25 in, $10 out`. */
export function priceSummary(price: Price): string {
  const { inputPerMTok, outputPerMTok } = price;
  if (inputPerMTok !== undefined || outputPerMTok !== undefined)
    return `${money(inputPerMTok ?? 0)} in, ${money(outputPerMTok ?? 0)} out`;
  return priceLines(price)[0]?.[1] ?? 'nothing';
}
