import { checkOpenAi, unsupportedChoice } from '../checks/check-openai.ts';
import type { Rules } from '../checks/rule.ts';
import { asNumber, asText, isGiven, type JsonObject } from '../json-value.ts';
import { checkModelExists } from '../models/list-models.ts';
import { invalidRequest } from '../replies/provider-error.ts';
import { type Family, familyOf, GPT_IMAGE_MEMBERS } from './families.ts';

const RULES: Rules = {
  model: { kind: 'string', required: true, min: 1 },
  prompt: { kind: 'string', required: true, min: 1 },
  n: { kind: 'integer', min: 1, max: 10 },
  size: { kind: 'string' },
  quality: { kind: 'string' },
  response_format: { kind: 'one-of', values: ['url', 'b64_json'] },
  style: { kind: 'string' },
  background: { kind: 'one-of', values: ['transparent', 'opaque', 'auto'] },
  moderation: { kind: 'one-of', values: ['low', 'auto'] },
  output_format: { kind: 'one-of', values: ['png', 'jpeg', 'webp'] },
  output_compression: { kind: 'integer', min: 0, max: 100 },
  stream: { kind: 'boolean' },
  partial_images: { kind: 'integer', min: 0, max: 3 },
  input_fidelity: { kind: 'one-of', values: ['high', 'low'] },
  user: { kind: 'string' },
  safety_identifier: { kind: 'string' },
};

const MEMBERS_OF_SOME = ['response_format', 'style', ...GPT_IMAGE_MEMBERS];

/** Width and height divisible by 16, ratio at most 3:1, at most 3840×2160 either way round. */
const isFreeSize = (size: string): boolean => {
  const [width = 0, height = 0] = sizeOf(size);
  const [short, long] = width < height ? [width, height] : [height, width];
  return (
    short > 0 && width % 16 === 0 && height % 16 === 0 && long <= 3 * short && long <= 3840 && short <= 2160
  );
};

const sizeOf = (size: string): number[] => /^(\d{1,5})x(\d{1,5})$/.exec(size)?.slice(1).map(Number) ?? [];

/** One checked request for images, with its defaults filled in. */
export interface ImageOrder {
  readonly model: string;
  readonly prompt: string;
  readonly count: number;
  readonly width: number;
  readonly height: number;
  readonly quality: string;
  readonly format: 'png' | 'jpeg' | 'webp';
  readonly isTransparent: boolean;
  readonly answersUrl: boolean;
  readonly isGptImage: boolean;
  readonly revisesPrompt: boolean;
  readonly partialImages: number;
  readonly streams: boolean;
}

const checkSize = (family: Family, model: string, size: string): void => {
  if (family.sizes.includes(size) || (family.takesFreeSizes(model) && isFreeSize(size))) return;
  throw unsupportedChoice('size', size, family.sizes);
};

const DEFAULT_SIZE = '1024x1024';
const given = (value: unknown, fallback: string): string => (isGiven(value) ? asText(value) : fallback);

const formatOf = (value: unknown): ImageOrder['format'] =>
  value === 'jpeg' || value === 'webp' ? value : 'png';

/**
 * Checks a request by its model's family.
 * @throws ProviderError 400 in OpenAI's words, 404 for a model that does not exist
 */
export const readImageOrder = (body: JsonObject, isEdit: boolean): ImageOrder => {
  checkOpenAi(body, RULES);
  const model = asText(body.model);
  const prompt = asText(body.prompt);
  checkModelExists(model);
  const family = familyOf(model);
  if (isEdit && !family.edits) {
    throw invalidRequest(
      `Invalid value: '${model}'. Value must be 'dall-e-2' or a GPT Image model.`,
      'invalid_value',
      'model',
    );
  }
  for (const name of MEMBERS_OF_SOME) {
    if (isGiven(body[name]) && !family.takes.includes(name)) {
      throw invalidRequest(`Unknown parameter: '${name}'.`, 'unknown_parameter', name);
    }
  }
  checkOpenAi({ prompt }, { prompt: { kind: 'string', max: family.promptMax } });
  const count = asNumber(body.n) ?? 1;
  if (count > family.maxImages) {
    throw invalidRequest(
      `Invalid 'n': this model only supports n=${family.maxImages}.`,
      'invalid_value',
      'n',
    );
  }
  const size = given(body.size, DEFAULT_SIZE);
  checkSize(family, model, size);
  const quality = given(body.quality, 'auto');
  if (isGiven(body.quality) && !family.qualities.includes(quality)) {
    throw unsupportedChoice('quality', quality, family.qualities);
  }
  if (isGiven(body.style) && !family.styles.includes(asText(body.style))) {
    throw unsupportedChoice('style', asText(body.style), family.styles);
  }
  const format = formatOf(body.output_format);
  const isTransparent = body.background === 'transparent';
  if (isTransparent && format === 'jpeg') {
    throw invalidRequest(
      'Transparent background is not supported for JPEG output format.',
      'invalid_value',
      'background',
    );
  }
  const [width = 1024, height = 1024] = sizeOf(size);
  return {
    model,
    prompt,
    count,
    width,
    height,
    quality: quality === 'auto' ? 'medium' : quality,
    format,
    isTransparent,
    answersUrl: !family.isGptImage && body.response_format !== 'b64_json',
    isGptImage: family.isGptImage,
    revisesPrompt: family.revisesPrompt,
    partialImages: asNumber(body.partial_images) ?? 0,
    streams: body.stream === true,
  };
};
