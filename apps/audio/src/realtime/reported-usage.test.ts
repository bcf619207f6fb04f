import { NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import { costMicroUsd } from '@gateway/metering/price/cost';
import { expect, test } from 'vitest';
import { reportedResponse } from './reported-usage.ts';

/** Different for each kind, so that none can pass for another. */
const PRICE = {
  ...{ inputPerMTok: 1, cachedInputPerMTok: 10, outputPerMTok: 0 },
  ...{ audioInputPerMTok: 100, cachedAudioInputPerMTok: 1000 },
  ...{ imageInputPerMTok: 10_000, cachedImageInputPerMTok: 100_000 },
};
const details = (text: number, audio: number, image: number) => ({
  ...{ text_tokens: text, audio_tokens: audio, image_tokens: image },
});

test('images, sound and text of a response are told apart, cached or not', () => {
  const used = reportedResponse({
    ...{ input_tokens: 27, output_tokens: 1 },
    input_token_details: {
      ...details(9, 7, 11),
      ...{ cached_tokens: 12, cached_tokens_details: details(5, 3, 4) },
    },
  });
  expect(used).toEqual({
    ...NOTHING_CONSUMED,
    ...{ inputTokens: 27, cachedInputTokens: 12, outputTokens: 1 },
    ...{ audioInputTokens: 7, cachedAudioTokens: 3, imageInputTokens: 11, cachedImageTokens: 4 },
  });
  expect(costMicroUsd(PRICE, used ?? NOTHING_CONSUMED)).toBe(4 + 50 + 400 + 3000 + 70_000 + 400_000);
});

test('a provider that reports more of a kind than of all is charged by what can be', () => {
  const used = reportedResponse({
    ...{ input_tokens: 10, output_tokens: 1 },
    input_token_details: {
      ...details(0, 6, 40),
      ...{ cached_tokens: 99, cached_tokens_details: details(0, 2, 50) },
    },
  });
  expect(used).toMatchObject({
    ...{ inputTokens: 10, cachedInputTokens: 6 },
    ...{ audioInputTokens: 6, cachedAudioTokens: 2, imageInputTokens: 4, cachedImageTokens: 4 },
  });
});
