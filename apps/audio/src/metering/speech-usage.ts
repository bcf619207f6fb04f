import { createFrameReader } from '@gateway/contracts/event-stream/frame-reader';
import { isEventStream } from '@gateway/contracts/event-stream/sse-frames';
import { jsonIn } from '@gateway/contracts/json/json-object';
import type { Price } from '@gateway/contracts/models/price';
import type { SpeechRequest } from '@gateway/contracts/openai/speech';
import { reportedCount } from '@gateway/contracts/usage/reported-count';
import type { UsageDetail } from '@gateway/contracts/usage/usage-detail';
import {
  type ConsumedUsage,
  NOTHING_CONSUMED,
  type UsageResult,
} from '@gateway/contracts/usage/usage-record';
import { characterCount } from '@gateway/contracts/wire-types';
import { estimateOf } from '@gateway/metering/meter/estimate';
import { costMicroUsd } from '@gateway/metering/price/cost';
import { unitPricesOf } from '@gateway/metering/price/unit-prices';
import type { DiscardedReply } from '@gateway/upstream/failures/failure';
import { z } from 'zod';
import { MAX_FRAME_BYTES } from '../event-frames.ts';

/** Whether tokens cost anything of their own, so that they have to be estimated. */
export const paysTokens = (price: Price | null): boolean =>
  price?.inputPerMTok !== undefined || price?.outputPerMTok !== undefined;

/** Slow speech, and what a second of it is billed with. */
const CHARACTERS_PER_SECOND = 10;
const OUTPUT_TOKENS_PER_SECOND = 25;

/** By OpenAI's names, or those of chat. */
const Done = z.object({
  usage: z.looseObject({}).transform((report) => ({
    input_tokens: reportedCount(report.input_tokens) || reportedCount(report.prompt_tokens),
    output_tokens: reportedCount(report.output_tokens) || reportedCount(report.completion_tokens),
  })),
});

type Spoken = Pick<SpeechRequest, 'input' | 'speed'>;

/**
 * What speech consumes: its characters, exactly. Where the price is in tokens, which few replies report, they are
 * estimated on the high side.
 */
export function estimateSpeech(price: Price | null, { input, speed }: Spoken): UsageResult {
  const characters = characterCount(input);
  const seconds = characters / CHARACTERS_PER_SECOND / (speed ?? 1);
  const tokens = paysTokens(price)
    ? {
        inputTokens: Buffer.byteLength(input),
        outputTokens: Math.ceil(seconds * OUTPUT_TOKENS_PER_SECOND),
      }
    : {};
  return {
    ...estimateOf(price, { ...NOTHING_CONSUMED, characters, ...tokens }),
    estimated: paysTokens(price),
  };
}

/** The estimate as the usage of speech that a channel has begun to speak. */
export const usageOfSpeech = (
  price: Price | null,
  estimate: UsageResult,
  begun: Pick<UsageResult, 'channel' | 'attempts'> & { readonly detail: UsageDetail },
): UsageResult => ({
  ...estimate,
  ...begun,
  detail: { ...begun.detail, ...(price && { unitPrices: unitPricesOf(price, estimate.consumption) }) },
});

/** The same with the tokens of the stream's last event, if it has them. */
export function withTokensTold<Usage extends ConsumedUsage>(
  usage: Usage,
  price: Price | null,
  event: string,
): Usage {
  const reported = Done.safeParse(jsonIn(event)).data?.usage;
  if (reported === undefined) return usage;
  const { input_tokens: inputTokens, output_tokens: outputTokens } = reported;
  // Speech is made of something, and is something: such a count stays estimated.
  const consumption = {
    ...usage.consumption,
    ...(inputTokens > 0 && { inputTokens }),
    ...(outputTokens > 0 && { outputTokens }),
  };
  return {
    ...usage,
    consumption,
    estimated: inputTokens === 0 || outputTokens === 0,
    costMicroUsd: price && costMicroUsd(price, consumption),
    detail: { ...usage.detail, ...(price && { unitPrices: unitPricesOf(price, consumption) }) },
  };
}

/** What a reply without speech reports to have used; null where it reports nothing. */
export function usageOfDiscarded(
  price: Price | null,
  { characters }: Pick<UsageResult['consumption'], 'characters'>,
  { candidate, headers, bytes }: DiscardedReply,
): ConsumedUsage | null {
  const reports = isEventStream(headers) ? dataOfEvents(bytes) : [bytes.toString()];
  const { input_tokens: inputTokens, output_tokens: outputTokens } = reports
    .flatMap((report) => Done.safeParse(jsonIn(report)).data?.usage ?? [])
    .at(-1) ?? { input_tokens: 0, output_tokens: 0 };
  if (inputTokens + outputTokens === 0) return null;
  const spoken = outputTokens > 0 ? { characters } : {};
  const consumption = { ...NOTHING_CONSUMED, inputTokens, outputTokens, ...spoken };
  const cost = price && costMicroUsd(price, consumption);
  return { channel: candidate.channel.name, attempts: 1, consumption, estimated: false, costMicroUsd: cost };
}

function dataOfEvents(bytes: Buffer): readonly string[] {
  const frames = createFrameReader({ maxFrameBytes: MAX_FRAME_BYTES });
  return [...frames.push(bytes), frames.end()].flatMap((frame) => frame?.data ?? []);
}
