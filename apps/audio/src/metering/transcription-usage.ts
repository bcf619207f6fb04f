import type { TranscriptionInput, TranscriptionOutput } from '@gateway/contracts/jobs';
import { isObject, jsonIn } from '@gateway/contracts/json/json-object';
import type { Price } from '@gateway/contracts/models/price';
import { reportedCount } from '@gateway/contracts/usage/reported-count';
import type { UsageDetail } from '@gateway/contracts/usage/usage-detail';
import {
  type ConsumedUsage,
  type Consumption,
  NOTHING_CONSUMED,
  type UsageResult,
} from '@gateway/contracts/usage/usage-record';
import { estimateOf } from '@gateway/metering/meter/estimate';
import { costMicroUsd } from '@gateway/metering/price/cost';
import { unitPricesOf } from '@gateway/metering/price/unit-prices';
import type { DiscardedReply } from '@gateway/upstream/failures/failure';
import { reportsFailure } from '@gateway/upstream/first-output/reported-error';
import { z } from 'zod';
import { paysTokens } from './speech-usage.ts';

/** Few files are compressed more than this; for those of unknown duration. */
const FEWEST_BYTES_PER_SECOND = 2000;
const AUDIO_TOKENS_PER_SECOND = 10;
/** Fast speech has less than four words a second. */
const OUTPUT_TOKENS_PER_SECOND = 10;

/** Tokens, or seconds, by OpenAI's names or Mistral's. */
const Reported = z
  .looseObject({})
  .catch({})
  .transform((report) => ({
    inputTokens: reportedCount(report.input_tokens) || reportedCount(report.prompt_tokens),
    outputTokens: reportedCount(report.output_tokens) || reportedCount(report.completion_tokens),
    seconds: reportedCount(report.seconds) || reportedCount(report.prompt_audio_seconds),
  }));

export type Recording = Pick<TranscriptionInput, 'file' | 'fields' | 'durationSeconds'>;

/** Providers bill whole seconds, each one that has begun. */
const billedMs = (seconds: number): number => Math.ceil(seconds) * 1000;

/** The most that a transcription can consume: the seconds in the file's own headers. */
export function estimateTranscription(price: Price | null, recording: Recording): UsageResult {
  const { file, fields, durationSeconds } = recording;
  const seconds = durationSeconds ?? file.sizeBytes / FEWEST_BYTES_PER_SECOND;
  const audioMs = billedMs(seconds);
  const textBytes = fields.reduce((sum, [, value]) => sum + Buffer.byteLength(value), 0);
  const tokens = paysTokens(price)
    ? {
        inputTokens: Math.ceil(seconds * AUDIO_TOKENS_PER_SECOND) + textBytes,
        outputTokens: Math.ceil(seconds * OUTPUT_TOKENS_PER_SECOND),
      }
    : {};
  return estimateOf(price, { ...NOTHING_CONSUMED, audioMs, ...tokens });
}

interface Transcribed {
  readonly price: Price | null;
  readonly recording: Recording;
  /** As the provider reports it. */
  readonly reported: TranscriptionOutput['usage'];
  /** What is known of the length, from the file or from the transcript. */
  readonly durationSeconds: number | null;
  readonly channel: string;
  readonly attempts: number;
  /** How the request went; the unit prices are added to it. */
  readonly detail: UsageDetail;
}

/** What a transcription consumed that is done. */
export function usageOfTranscription(options: Transcribed): ConsumedUsage {
  const { price, recording, reported, channel, attempts, detail } = options;
  const { inputTokens, outputTokens, ...told } = Reported.parse(reported);
  // No recording has no length, and no sound has no tokens: such a count is no report.
  const seconds = told.seconds || options.durationSeconds;
  const estimate = estimateTranscription(price, recording).consumption;
  const consumption: Consumption = {
    ...estimate,
    ...(seconds !== null && { audioMs: billedMs(seconds) }),
    ...(inputTokens > 0 && { inputTokens }),
    // Silence has no words.
    ...(inputTokens > 0 && { outputTokens }),
  };
  const estimated = seconds === null || (paysTokens(price) && inputTokens === 0);
  return {
    channel,
    attempts,
    consumption,
    estimated,
    costMicroUsd: price && costMicroUsd(price, consumption),
    detail: { ...detail, ...(price && { unitPrices: unitPricesOf(price, consumption) }) },
  };
}

/**
 * What a reply has used that was no transcript: what it reports; all of the recording where it was one that breaks off; null for an
 * error that reports nothing.
 */
export function usageOfDiscarded(
  price: Price | null,
  recording: Recording,
  { candidate, headers, bytes }: DiscardedReply,
): ConsumedUsage | null {
  const told = { channel: candidate.channel.name, attempts: 1 };
  const text = bytes.toString();
  const body = jsonIn(text);
  const reported = isObject(body) ? Reported.parse(body.usage) : null;
  if (reported !== null && reported.inputTokens + reported.outputTokens + reported.seconds > 0) {
    const { seconds, ...tokens } = reported;
    const consumption = { ...NOTHING_CONSUMED, ...tokens, audioMs: billedMs(seconds) };
    return {
      ...told,
      consumption,
      estimated: false,
      costMicroUsd: price && costMicroUsd(price, consumption),
    };
  }
  const type = headers['content-type'] ?? '';
  const hasBegun = type.startsWith('application/json')
    ? text.trimStart().startsWith('{')
    : type.startsWith('text/plain');
  if (!hasBegun || reportsFailure(body)) return null;
  return { ...estimateTranscription(price, recording), ...told };
}
