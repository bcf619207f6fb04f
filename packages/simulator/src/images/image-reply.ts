import type { JsonObject } from '../json-value.ts';
import { eventFrame, jsonReply, type Reply, streamReply } from '../replies/reply.ts';
import type { Call } from '../requests/call.ts';
import { withoutDirectives } from '../script/directives.ts';
import { countTokens } from '../tokens.ts';
import { draw } from './drawing/draw.ts';
import type { ImageOrder } from './read-image-order.ts';

/** Output tokens of a 1024×1024 image by quality; other sizes in proportion to their area. */
const TOKENS_BY_QUALITY: Readonly<Record<string, number>> = {
  low: 272,
  medium: 1056,
  high: 4160,
  xhigh: 6240,
  max: 8320,
};
const SQUARE_PIXELS = 1024 * 1024;
const TOKENS_PER_INPUT_IMAGE = 323;

interface ImageUsage {
  readonly textTokens: number;
  readonly imageTokens: number;
  readonly outputTokens: number;
}

const usageOf = (order: ImageOrder, inputImages: number, count: number): ImageUsage => {
  const area = (order.width * order.height) / SQUARE_PIXELS;
  return {
    textTokens: countTokens(order.prompt),
    imageTokens: inputImages * TOKENS_PER_INPUT_IMAGE,
    outputTokens: count * Math.round((TOKENS_BY_QUALITY[order.quality] ?? 0) * area),
  };
};

const wireUsage = ({ textTokens, imageTokens, outputTokens }: ImageUsage): JsonObject => ({
  total_tokens: textTokens + imageTokens + outputTokens,
  input_tokens: textTokens + imageTokens,
  output_tokens: outputTokens,
  input_tokens_details: { text_tokens: textTokens, image_tokens: imageTokens },
  output_tokens_details: { text_tokens: 0, image_tokens: outputTokens },
});

const drawn = (order: ImageOrder, index: number | string): Buffer =>
  draw({ ...order, text: `${withoutDirectives(order.prompt)} ${index}` });

const entryOf = (order: ImageOrder, index: number, { provider }: Call): JsonObject => {
  const bytes = drawn(order, index);
  const revised = order.revisesPrompt ? { revised_prompt: `A detailed picture of: ${order.prompt}` } : {};
  if (!order.answersUrl) return { b64_json: bytes.toString('base64'), ...revised };
  const name = `${provider.ids.next('img-')}.${order.format}`;
  provider.files.put(name, { bytes, contentType: `image/${order.format}` });
  return { url: `${provider.url()}/files/${name}`, ...revised };
};

const shapeOf = (order: ImageOrder): JsonObject => ({
  size: `${order.width}x${order.height}`,
  quality: order.quality,
  background: order.isTransparent ? 'transparent' : 'opaque',
  output_format: order.format,
});

function* imageFrames(
  order: ImageOrder,
  prefix: string,
  created_at: number,
  inputImages: number,
): Generator<string> {
  const frame = (type: string, members: JsonObject): string => eventFrame(type, { type, ...members });
  const shape = { created_at, ...shapeOf(order) };
  for (let index = 0; index < order.count; index += 1) {
    for (let partial_image_index = 0; partial_image_index < order.partialImages; partial_image_index += 1) {
      const b64_json = drawn(order, `${index} partial ${partial_image_index}`).toString('base64');
      yield frame(`${prefix}.partial_image`, { b64_json, partial_image_index, ...shape });
    }
    const b64_json = drawn(order, index).toString('base64');
    const usage = wireUsage(usageOf(order, index === 0 ? inputImages : 0, 1));
    yield frame(`${prefix}.completed`, { b64_json, ...shape, usage });
  }
}

const STREAM_ERROR = {
  type: 'server_error',
  code: 'server_error',
  message: 'The server had an error while processing your request.',
  param: null,
};

export interface ImageReplyOptions {
  readonly call: Call;
  readonly order: ImageOrder;
  readonly kind: 'image_generation' | 'image_edit';
  readonly inputImages: number;
}

/** The reply of both image endpoints. */
export const imageReply = ({ call, order, kind, inputImages }: ImageReplyOptions): Reply => {
  const created = call.provider.nowSeconds();
  const usage = usageOf(order, inputImages, order.count);
  const ledger = {
    model: order.model,
    images: order.count,
    ...(order.isGptImage && {
      inputTokens: usage.textTokens + usage.imageTokens,
      outputTokens: usage.outputTokens,
    }),
  };
  if (order.streams) {
    const errorFrames = () => [eventFrame('error', { type: 'error', error: STREAM_ERROR })];
    return streamReply(imageFrames(order, kind, created, inputImages), { ledger, errorFrames });
  }
  const data = Array.from({ length: order.count }, (_, index) => entryOf(order, index, call));
  const described = order.isGptImage ? { ...shapeOf(order), usage: wireUsage(usage) } : {};
  return jsonReply({ created, data, ...described }, ledger);
};
