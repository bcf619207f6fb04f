import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createKnownModels } from '@gateway/upstream/prices/known-models';
import { expect, test } from 'vitest';
import { bundledVersion, catalogueText, makeCatalogue, ownPrices, PRICES_DAY } from './update-prices.ts';

const made = makeCatalogue(bundledVersion(), ownPrices(), PRICES_DAY);
const known = createKnownModels(() => made);
const priceOf = (provider: Parameters<typeof known.find>[0], name: string) =>
  known.find(provider, name)?.price ?? null;

test('the catalogue matches the package and prices.yaml: node scripts/update-prices.ts makes it again', () => {
  const file = join(import.meta.dirname, '../packages/upstream/src/prices/catalogue.json');
  expect(readFileSync(file, 'utf8')).toBe(catalogueText(made));
});

test('prices.yaml has no price that the package has', () => {
  const withoutOurs = createKnownModels(() => makeCatalogue(bundledVersion(), {}, PRICES_DAY));
  const channels = {
    openai: 'openai',
    anthropic: 'anthropic',
    cohere: 'cohere',
    voyageai: 'voyage',
  } as const;
  const priced = Object.entries(ownPrices()).map(([name, { provider }]) => ({
    name,
    channel: Object.entries(channels).find(([source]) => source === provider)?.[1],
  }));
  for (const { name, channel } of priced) {
    if (channel === undefined) throw new Error(`${name}: its provider is not in this test's table`);
    expect({ name, price: withoutOurs.find(channel, name) }).toEqual({ name, price: null });
  }
});

test('every kind of price is converted', () => {
  expect(priceOf('openai', 'gpt-5.2')).toEqual({
    inputPerMTok: 1.75,
    cachedInputPerMTok: 0.175,
    outputPerMTok: 14,
  });
  expect(priceOf('anthropic', 'claude-sonnet-4-5-20250929')).toEqual({
    inputPerMTok: 3,
    cachedInputPerMTok: 0.3,
    cacheWritePerMTok: 3.75,
    outputPerMTok: 15,
    longContext: {
      aboveInputTokens: 200_000,
      inputPerMTok: 6,
      cachedInputPerMTok: 0.6,
      cacheWritePerMTok: 7.5,
      outputPerMTok: 22.5,
    },
  });
  expect(priceOf('openai', 'whisper-1')).toEqual({ perMinute: 0.006 });
  expect(priceOf('openai', 'tts-1-hd')).toEqual({ perMillionChars: 30 });
});

test('if usage cannot distinguish kinds of tokens, days or hours, the highest price counts', () => {
  // Text and images in, images out.
  expect(priceOf('openai', 'gpt-image-1.5')).toEqual({ inputPerMTok: 8, outputPerMTok: 32 });
  // A rise that is announced for the first of January 2027.
  expect(priceOf('gemini', 'gemini-3.6-flash')).toMatchObject({ inputPerMTok: 1.5, outputPerMTok: 7.5 });
  // More expensive by day.
  expect(priceOf('deepseek', 'deepseek-v4-pro')).toMatchObject({ inputPerMTok: 1.32, outputPerMTok: 3.96 });
  // A price of the past.
  expect(priceOf('openai', 'o3')).toMatchObject({ inputPerMTok: 2, outputPerMTok: 8 });
});

test('no list holds snapshots, and none is long', () => {
  for (const provider of ['openai', 'anthropic', 'gemini', 'mistral', 'groq', 'deepseek', 'xai'] as const) {
    const names = known.list(provider, 'text');
    expect(names.length).toBeGreaterThan(3);
    expect(names.length).toBeLessThan(60);
    expect(names.filter((name) => /\d{4}-?\d{2}-?\d{2}/.test(name))).toEqual([]);
  }
  expect(known.list('openrouter', 'text')).toEqual([]);
  expect(known.find('openrouter', 'anthropic/claude-sonnet-4.5')).not.toBe(null);
});

test('models for search are listed by one name each, for the channels that have them', () => {
  expect(known.list('openai', 'embedding')).toEqual([
    'text-embedding-3-large',
    'text-embedding-3-small',
    'text-embedding-ada-002',
  ]);
  expect(known.list('gemini', 'embedding')).toContain('gemini-embedding-001');
  expect(known.list('mistral', 'embedding')).toEqual(['mistral-embed']);
  expect(known.list('cohere', 'embedding')).toEqual(['embed-v4.0']);
  expect(known.list('cohere', 'rerank')).toContain('rerank-v4.0-pro');
  expect(known.list('cohere', 'text')).toEqual([]);
  expect(known.list('voyage', 'embedding')).toContain('voyage-4');
  expect(known.list('voyage', 'embedding')).not.toContain('voyage-context-3');
  expect(known.list('voyage', 'rerank')).toEqual(['rerank-2.5', 'rerank-2.5-lite']);
  expect(priceOf('cohere', 'rerank-v4.0-pro')).toEqual({ perThousandToolCalls: { rerank_search: 2.5 } });
  expect(priceOf('gemini', 'gemini-embedding-2')).toEqual({ inputPerMTok: 0.2 });
});
