import { isObject, type JsonObject } from '@gateway/contracts/json/json-object';
import { reportedCount } from '@gateway/contracts/usage/reported-count';
import { type Consumption, NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';

const objectIn = (value: unknown, name: string): JsonObject => {
  const member = isObject(value) ? value[name] : undefined;
  return isObject(member) ? member : {};
};

/** Of a count that is part of another one: a provider that reports more of a part than of the whole has miscounted the part. */
const partOf = (whole: number, value: unknown): number => Math.min(whole, reportedCount(value));

/** What a response used; null where its provider does not say. */
export function reportedResponse(usage: unknown): Consumption | null {
  if (!isObject(usage)) return null;
  const input = objectIn(usage, 'input_token_details');
  const cached = objectIn(input, 'cached_tokens_details');
  const output = objectIn(usage, 'output_token_details');
  const inputTokens = reportedCount(usage.input_tokens);
  const outputTokens = reportedCount(usage.output_tokens);
  if (inputTokens === 0 && outputTokens === 0) return null;
  const cachedInputTokens = partOf(inputTokens, input.cached_tokens);
  const audioInputTokens = partOf(inputTokens, input.audio_tokens);
  const imageInputTokens = partOf(inputTokens - audioInputTokens, input.image_tokens);
  const cachedAudioTokens = partOf(Math.min(cachedInputTokens, audioInputTokens), cached.audio_tokens);
  const cachedImageTokens = partOf(
    Math.min(cachedInputTokens - cachedAudioTokens, imageInputTokens),
    cached.image_tokens,
  );
  const textTokens = inputTokens - audioInputTokens - imageInputTokens;
  const audioOutputTokens = partOf(outputTokens, output.audio_tokens);
  return {
    ...NOTHING_CONSUMED,
    inputTokens,
    // No more text is cached than there is.
    cachedInputTokens: Math.min(cachedInputTokens, textTokens + cachedAudioTokens + cachedImageTokens),
    outputTokens,
    ...(audioInputTokens > 0 && { audioInputTokens }),
    ...(cachedAudioTokens > 0 && { cachedAudioTokens }),
    ...(imageInputTokens > 0 && { imageInputTokens }),
    ...(cachedImageTokens > 0 && { cachedImageTokens }),
    ...(audioOutputTokens > 0 && { audioOutputTokens }),
  };
}

/** What a transcript of the caller's speech used, in tokens or in seconds; null where its provider does not say. */
export function reportedTranscript(usage: unknown): Consumption | null {
  if (!isObject(usage)) return null;
  const seconds = reportedCount(usage.seconds);
  if (seconds > 0) return { ...NOTHING_CONSUMED, audioMs: seconds * 1000 };
  const inputTokens = reportedCount(usage.input_tokens);
  const outputTokens = reportedCount(usage.output_tokens);
  if (inputTokens === 0 && outputTokens === 0) return null;
  const audioInputTokens = partOf(inputTokens, objectIn(usage, 'input_token_details').audio_tokens);
  return {
    ...NOTHING_CONSUMED,
    inputTokens,
    outputTokens,
    ...(audioInputTokens > 0 && { audioInputTokens }),
  };
}

/** People say ten characters in a second, or more; providers count a token for each 100 ms of them. */
const [MS_PER_CHARACTER, TOKENS_PER_CHARACTER] = [100, 1];

/** What a transcript used whose provider does not say; null: it is none. */
export function guessedTranscript(transcript: unknown): Consumption | null {
  if (typeof transcript !== 'string' || transcript === '') return null;
  const { length } = transcript;
  const inputTokens = length * TOKENS_PER_CHARACTER;
  return {
    ...NOTHING_CONSUMED,
    audioMs: length * MS_PER_CHARACTER,
    ...{ inputTokens, audioInputTokens: inputTokens, outputTokens: length },
  };
}
