import type { ImageResponseFormat } from '@gateway/contracts/jobs';

/** What the models of a family take. Null or absent: not checked here, the provider decides. */
export interface ImageRules {
  readonly family: string;
  /** In code points. */
  readonly promptMaxCharacters: number | null;
  /** The most images of one request. */
  readonly maxImages: number | null;
  readonly sizes: readonly string[] | null;
  /** Beside `sizes` also any WIDTHxHEIGHT within `ANY_SIZE`. */
  readonly takesAnySize: boolean;
  /** The values of members that have a list of them. */
  readonly values: Readonly<Record<string, readonly string[]>>;
  /** Members of the protocol that the family does not have. */
  readonly refused: readonly string[];
  /** The most images to edit. */
  readonly maxInputImages: number;
  /** What a caller gets by default. */
  readonly defaultResponseFormat: ImageResponseFormat;
  /** Whether a provider of such models takes `response_format`. */
  readonly takesResponseFormat: boolean;
  readonly streams: boolean;
}

/** Any size of gpt-image-2 and later: both sides divisible, within the ratio, no larger than this either way round. */
export const ANY_SIZE = { divisibleBy: 16, maxRatio: 3, longestSide: 3840, shortestSide: 2160 } as const;

/** A row of the table: the rules, and the names of models that they hold for. */
interface FamilyRow {
  /** A name belongs if it equals one of these, or continues one after a `-`, as dated snapshots do. */
  readonly models: readonly string[];
  readonly rules: ImageRules;
}

const GPT_ONLY = [
  'background',
  'moderation',
  'output_format',
  'output_compression',
  'input_fidelity',
  'partial_images',
  'complexity',
  'frame_count',
  'frame_duration_ms',
  'svg',
  'markup',
];

const dallE = {
  promptMaxCharacters: 4000,
  takesAnySize: false,
  maxInputImages: 1,
  defaultResponseFormat: 'url',
  takesResponseFormat: true,
  streams: false,
} as const;

const gptImage = {
  family: 'gpt-image',
  promptMaxCharacters: 32_000,
  maxImages: 10,
  sizes: ['auto', '1024x1024', '1536x1024', '1024x1536'],
  refused: ['style', 'markup'],
  maxInputImages: 16,
  defaultResponseFormat: 'b64_json',
  takesResponseFormat: false,
  streams: true,
} as const;

const gptValues = {
  quality: ['auto', 'low', 'medium', 'high'],
  background: ['transparent', 'opaque', 'auto'],
  moderation: ['low', 'auto'],
  output_format: ['png', 'jpeg', 'webp'],
} as const;

/** The first row whose names fit wins; within a family that the configuration names, else the family's last row. */
export const IMAGE_FAMILIES: readonly FamilyRow[] = [
  {
    models: ['dall-e-2'],
    rules: {
      ...dallE,
      family: 'dall-e-2',
      maxImages: 10,
      sizes: ['256x256', '512x512', '1024x1024'],
      values: { quality: ['standard'] },
      refused: ['style', ...GPT_ONLY],
    },
  },
  {
    models: ['dall-e-3'],
    rules: {
      ...dallE,
      family: 'dall-e-3',
      maxImages: 1,
      sizes: ['1024x1024', '1792x1024', '1024x1792'],
      values: { quality: ['standard', 'hd'], style: ['vivid', 'natural'] },
      refused: GPT_ONLY,
    },
  },
  {
    models: ['gpt-image-1', 'gpt-image-1.5'],
    rules: {
      ...gptImage,
      takesAnySize: false,
      values: { ...gptValues, input_fidelity: ['high', 'low'] },
    },
  },
  {
    models: ['gpt-image-2'],
    rules: {
      ...gptImage,
      takesAnySize: true,
      values: gptValues,
      refused: ['style', 'input_fidelity', 'markup'],
    },
  },
  {
    models: ['gpt-image', 'chatgpt-image'],
    rules: {
      ...gptImage,
      takesAnySize: true,
      refused: ['style'],
      values: {
        ...gptValues,
        quality: [...gptValues.quality, 'xhigh', 'max'],
        output_format: [...gptValues.output_format, 'gif', 'svg'],
        input_fidelity: ['high', 'low'],
      },
    },
  },
];

/** For a model of whose family nothing is known: the promise of the protocol and no more. */
export const UNKNOWN_FAMILY: ImageRules = {
  family: 'unknown',
  promptMaxCharacters: 32_000,
  maxImages: null,
  sizes: null,
  takesAnySize: false,
  values: {},
  refused: [],
  maxInputImages: 16,
  defaultResponseFormat: 'url',
  takesResponseFormat: true,
  streams: true,
};

/** Whether a text is WIDTHxHEIGHT within the bounds of models that take any size. */
export function isAnySize(text: string): boolean {
  const [, width, height] = (/^(\d{1,5})x(\d{1,5})$/.exec(text) ?? []).map(Number);
  if (!width || !height) return false;
  const { divisibleBy, maxRatio, longestSide, shortestSide } = ANY_SIZE;
  const [long, short] = width > height ? [width, height] : [height, width];
  return (
    long % divisibleBy === 0 &&
    short % divisibleBy === 0 &&
    long <= short * maxRatio &&
    long <= longestSide &&
    short <= shortestSide
  );
}
