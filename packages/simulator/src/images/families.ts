import { checkOpenAi, unsupportedChoice } from '../checks/check-openai.ts';
import { isKnownModel } from '../checks/read-json.ts';
import type { Rules } from '../checks/rule.ts';
import { asNumber, asText, isGiven, type JsonObject } from '../json-value.ts';
import { invalidRequest, ProviderError } from '../provider-error.ts';

/** What one family of image models takes. */
interface Family {
  readonly models: RegExp;
  /** Longest prompt, in characters. dall-e-2 takes what its remaining providers take, not OpenAI's old 1000. */
  readonly promptMax: number;
  readonly maxImages: number;
  /** Null: any size that the rules of `isFreeSize` allow. */
  readonly sizes: readonly string[];
  readonly takesFreeSizes: (model: string) => boolean;
  readonly qualities: readonly string[];
  readonly styles: readonly string[];
  /** Members that only some families know; the others refuse them. */
  readonly takes: readonly string[];
  /** Answers base64 always, with usage. */
  readonly isGptImage: boolean;
  readonly revisesPrompt: boolean;
  readonly edits: boolean;
}

const never = () => false;

const DALL_E_2: Family = {
  models: /^dall-e-2/,
  promptMax: 4000,
  maxImages: 10,
  sizes: ['256x256', '512x512', '1024x1024'],
  takesFreeSizes: never,
  qualities: ['standard'],
  styles: [],
  takes: ['response_format'],
  isGptImage: false,
  revisesPrompt: false,
  edits: true,
};

const DALL_E_3: Family = {
  models: /^dall-e-3/,
  promptMax: 4000,
  maxImages: 1,
  sizes: ['1024x1024', '1792x1024', '1024x1792'],
  takesFreeSizes: never,
  qualities: ['standard', 'hd'],
  styles: ['vivid', 'natural'],
  takes: ['response_format', 'style'],
  isGptImage: false,
  revisesPrompt: true,
  edits: false,
};

const GPT_IMAGE_MEMBERS = [
  'background',
  'moderation',
  'output_format',
  'output_compression',
  'stream',
  'partial_images',
  'input_fidelity',
];

const GPT_IMAGE: Family = {
  models: /^(gpt-image-|chatgpt-image-)/,
  promptMax: 32_000,
  maxImages: 10,
  sizes: ['auto', '1024x1024', '1536x1024', '1024x1536'],
  takesFreeSizes: (model) => !model.startsWith('gpt-image-1'),
  qualities: ['auto', 'low', 'medium', 'high', 'xhigh', 'max'],
  styles: [],
  takes: GPT_IMAGE_MEMBERS,
  isGptImage: true,
  revisesPrompt: false,
  edits: true,
};

/** A model of another vendor behind the same protocol. */
const OTHER: Family = {
  ...DALL_E_2,
  models: /./,
  promptMax: 32_000,
  takesFreeSizes: () => true,
  qualities: ['auto', 'standard', 'hd', 'low', 'medium', 'high'],
  styles: ['vivid', 'natural'],
  takes: ['response_format', 'style', 'background', 'output_format', 'output_compression'],
};

const FAMILIES = [DALL_E_2, DALL_E_3, GPT_IMAGE, OTHER];

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

/** One request for images, checked, with its defaults filled in. */
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
  if (!isKnownModel(model)) {
    throw new ProviderError({
      status: 404,
      message: `The model '${model}' does not exist.`,
      code: 'model_not_found',
      param: 'model',
    });
  }
  const family = FAMILIES.find(({ models }) => models.test(model)) ?? OTHER;
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
