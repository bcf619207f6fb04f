import type { ImageEditInput, ImageGenerationInput } from '@gateway/contracts/jobs';
import { jsonIn } from '@gateway/contracts/json/json-object';
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
import type { ResolvedModel } from '@gateway/upstream/catalog';
import type { DiscardedReply } from '@gateway/upstream/failures/failure';
import { z } from 'zod';
import { formValues } from '../form/edit-form.ts';
import { inputTokens, outputTokensPerImage } from './image-tokens.ts';

/** The members of a request that decide what it costs. */
export interface ImageOrder {
  readonly prompt: string;
  readonly n?: number | null | undefined;
  readonly size?: string | null | undefined;
  readonly quality?: string | null | undefined;
  readonly partial_images?: number | null | undefined;
  readonly output_format?: string | null | undefined;
  /** Images that are sent along. */
  readonly inputImages: number;
}

/** By OpenAI's names, or those of chat. */
const tokens = z
  .looseObject({})
  .transform((report) => ({
    input_tokens: reportedCount(report.input_tokens) || reportedCount(report.prompt_tokens),
    output_tokens: reportedCount(report.output_tokens) || reportedCount(report.completion_tokens),
  }))
  .nullish()
  .catch(null);

/** A provider's report of its work: of all images together, or with each one of a stream. */
const Made = z
  .object({
    size: z.string().optional().catch(undefined),
    quality: z.string().optional().catch(undefined),
    usage: tokens,
    /** Of the model that draws an SVG after an image; its tokens are charged as the image model's. */
    svg_usage: tokens,
  })
  .catch({});

/** What the model chooses is not known beforehand. */
const known = (value: string | null | undefined) => (value && value !== 'auto' ? value : undefined);

const paysTokens = (price: Price | null): boolean =>
  price?.inputPerMTok !== undefined || price?.outputPerMTok !== undefined;

/** The most tokens that so many images of an order take. */
function tokensOf(order: ImageOrder, images: number) {
  const size = known(order.size);
  const quality = known(order.quality);
  const each = { ...order, size, quality, partialImages: order.partial_images ?? 0 };
  return { inputTokens: inputTokens(each), outputTokens: images * outputTokensPerImage(each) };
}

/** The most tokens of the text model that writes an SVG: it reads the image, and its output is not bounded by the request. */
const MAX_SVG_TOKENS = { inputTokens: 50_000, outputTokens: 32_768 };

/** The most that a request can consume and cost; the dearest size and quality where it leaves the choice to the model. */
export function estimateImages({ price }: Pick<ResolvedModel, 'price'>, order: ImageOrder): UsageResult {
  const images = order.n ?? 1;
  const size = known(order.size);
  const quality = known(order.quality);
  const made = tokensOf(order, images);
  const svg = order.output_format === 'svg' ? MAX_SVG_TOKENS : { inputTokens: 0, outputTokens: 0 };
  const all = {
    inputTokens: made.inputTokens + svg.inputTokens,
    outputTokens: made.outputTokens + svg.outputTokens,
  };
  const tokens = paysTokens(price) ? all : {};
  return estimateOf(
    price,
    { ...NOTHING_CONSUMED, images, ...tokens },
    { imageSize: size, imageQuality: quality },
  );
}

interface MadeImages {
  readonly price: Price | null;
  /** What was requested: it counts if the provider does not report what it made. */
  readonly order: ImageOrder;
  readonly images: number;
  /** What the provider reported: of all images at once, or of each one. */
  readonly reported: readonly unknown[];
  readonly channel: string;
  readonly attempts: number;
  /** How the request went; the unit prices are added to it. */
  readonly detail?: UsageDetail;
}

/** What images consumed that have been made. Tokens that are paid and not reported are estimated. */
export function usageOfImages({
  price,
  order,
  images,
  reported,
  channel,
  attempts,
  detail,
}: MadeImages): ConsumedUsage {
  const made = reported.map((one) => Made.parse(one));
  const sum = (by: 'usage' | 'svg_usage', name: 'input_tokens' | 'output_tokens') =>
    made.reduce((total, one) => total + (one[by]?.[name] ?? 0), 0);
  const reportedTokens = {
    inputTokens: sum('usage', 'input_tokens'),
    outputTokens: sum('usage', 'output_tokens'),
  };
  // No image is made of nothing, or is nothing: such a count is estimated.
  const isWhole = reportedTokens.inputTokens > 0 && reportedTokens.outputTokens > 0;
  const estimated = paysTokens(price) && images > 0 && !isWhole;
  const most = estimated ? tokensOf(order, images) : reportedTokens;
  const consumption: Consumption = {
    ...NOTHING_CONSUMED,
    images,
    inputTokens: (reportedTokens.inputTokens || most.inputTokens) + sum('svg_usage', 'input_tokens'),
    outputTokens: (reportedTokens.outputTokens || most.outputTokens) + sum('svg_usage', 'output_tokens'),
  };
  const last = made.at(-1);
  const tariff = {
    imageSize: last?.size ?? order.size ?? undefined,
    imageQuality: last?.quality ?? order.quality ?? undefined,
  };
  const cost = price && costMicroUsd(price, consumption, tariff);
  const unitPrices = price && unitPricesOf(price, consumption, tariff);
  return {
    channel,
    attempts,
    consumption,
    estimated,
    costMicroUsd: cost,
    detail: { ...detail, ...(unitPrices && { unitPrices }) },
  };
}

/** What a reply without images reports to have used; null where it reports nothing. */
export function usageOfDiscarded(
  price: Price | null,
  { candidate, bytes }: DiscardedReply,
): ConsumedUsage | null {
  const { usage } = Made.parse(jsonIn(bytes.toString()));
  const consumption = {
    ...NOTHING_CONSUMED,
    inputTokens: usage?.input_tokens ?? 0,
    outputTokens: usage?.output_tokens ?? 0,
  };
  if (consumption.inputTokens + consumption.outputTokens === 0) return null;
  const costs = price && costMicroUsd(price, consumption);
  return { channel: candidate.channel.name, attempts: 1, consumption, estimated: false, costMicroUsd: costs };
}

/** The members of a job's input, which were checked when the job was made. */
const Members = z.object({
  prompt: z.string().catch(''),
  n: z.number().nullish(),
  size: z.string().nullish(),
  quality: z.string().nullish(),
  partial_images: z.number().nullish(),
  output_format: z.string().nullish(),
});

/** The order of a queued generation or edit. */
export const orderOfJob = (input: ImageGenerationInput | ImageEditInput): ImageOrder =>
  'parameters' in input
    ? { ...Members.parse(input.parameters), inputImages: 0 }
    : { ...Members.parse(formValues(input.fields)), inputImages: input.images.length };
