import { expect, test } from 'vitest';
import { parseConfiguration } from '../configuration/parse-configuration.ts';
import { batchPrice } from './open-batch-api.ts';

const channelOf = (entry: string) =>
  parseConfiguration(`channels: { c: ${entry} }\nmodels: {}`, 'gateway.yaml', {}).channels.get('c');

test.each([
  ['provider: openai, apiKey: k', { openai: { files: '/v1/files', batches: '/v1/batches' } }],
  [
    'provider: azure-openai, resource: r, apiKey: k',
    { openai: { files: '/openai/v1/files', batches: '/openai/v1/batches' } },
  ],
  ['provider: anthropic, apiKey: k', { anthropic: '/v1/messages/batches' }],
  [
    'provider: openai-compatible, baseUrl: "http://10.0.0.1/api/v1"',
    {
      openai: { files: '/api/v1/files', batches: '/api/v1/batches' },
      anthropic: '/api/v1/messages/batches',
    },
  ],
])('a channel of { %s } does batches where it is told to, and only then', (entry, paths) => {
  expect(channelOf(`{ ${entry} }`)?.batches).toBeNull();
  expect(channelOf(`{ ${entry}, batches: provider }`)?.batches).toEqual({ paths, priceFactor: 0.5 });
  expect(channelOf(`{ ${entry}, batches: { priceFactor: 0.6 } }`)?.batches).toEqual({
    paths,
    priceFactor: 0.6,
  });
});

test('a provider without batches, and what is no setting of them, is a mistake', () => {
  expect(() => channelOf('{ provider: groq, apiKey: k, batches: provider }')).toThrow(
    'channels.c.batches: found "batches", expected no batches, which a provider of the kind groq does not take here',
  );
  expect(() => channelOf('{ provider: openai, apiKey: k, batches: gateway }')).toThrow(
    'channels.c.batches: found "gateway", expected provider, or a mapping with priceFactor',
  );
});

test('a batch costs a part of the usual price, but for tools; or what the price says of batches', () => {
  const price = {
    inputPerMTok: 3,
    outputPerMTok: 15,
    perThousandToolCalls: { web_search: 10 },
    longContext: { aboveInputTokens: 200_000, inputPerMTok: 6 },
  };
  expect(batchPrice(price, 0.5)).toEqual({
    inputPerMTok: 1.5,
    outputPerMTok: 7.5,
    perThousandToolCalls: { web_search: 10 },
    longContext: { aboveInputTokens: 200_000, inputPerMTok: 3 },
  });
  const own = { ...price, serviceTiers: { batch: { inputPerMTok: 1, longContext: { inputPerMTok: 2 } } } };
  expect(batchPrice(own, 0.5)).toMatchObject({
    inputPerMTok: 1,
    outputPerMTok: 15,
    longContext: { aboveInputTokens: 200_000, inputPerMTok: 2 },
  });
});
