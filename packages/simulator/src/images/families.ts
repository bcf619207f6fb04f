/** The values that one family of image models takes. */
export interface Family {
  readonly models: RegExp;
  /** Longest prompt, in characters. For dall-e-2 the bound of its remaining providers, not OpenAI's old 1000. */
  readonly promptMax: number;
  readonly maxImages: number;
  readonly sizes: readonly string[];
  /** Whether a model takes other sizes as well, within bounds. */
  readonly takesFreeSizes: (model: string) => boolean;
  readonly qualities: readonly string[];
  readonly styles: readonly string[];
  /** Members that only some families have; the others refuse them. */
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

export const GPT_IMAGE_MEMBERS = [
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

/** A model of another vendor with the same protocol. */
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

export const familyOf = (model: string): Family => FAMILIES.find(({ models }) => models.test(model)) ?? OTHER;
