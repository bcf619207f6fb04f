import { z } from 'zod';

/**
 * LiteLLM's `config.yaml`, as far as it is carried over; of the rest only the names are read, to say what becomes of it.
 * Source: LiteLLM's documentation of the file, October 2026.
 */

const Text = z.string().min(1);
/** Numbers and switches may stand in quotes, or be read from the environment, which an import cannot. */
const Amount = z.union([z.number(), z.string().regex(/^\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i)]).transform(Number);
const Names = z.union([Text.transform((name) => [name]), z.array(Text)]);
const Settings = z.record(z.string(), z.unknown());

export const LitellmParams = z.looseObject({
  model: Text,
  custom_llm_provider: Text.nullish(),
  api_base: Text.nullish(),
  base_url: Text.nullish(),
  api_key: Text.nullish(),
  organization: Text.nullish(),
  extra_headers: z.record(z.string(), z.coerce.string()).nullish(),
  headers: z.record(z.string(), z.coerce.string()).nullish(),
  timeout: Amount.nullish(),
  stream_timeout: Amount.nullish(),
  max_parallel_requests: Amount.nullish(),
  weight: Amount.nullish(),
  rpm: Amount.nullish(),
  tpm: Amount.nullish(),
  order: Amount.nullish(),
  litellm_credential_name: Text.nullish(),
});
export type LitellmParams = z.infer<typeof LitellmParams>;

export const ModelInfo = z.looseObject({
  mode: Text.nullish(),
  max_input_tokens: Amount.nullish(),
  max_output_tokens: Amount.nullish(),
});
export type ModelInfo = z.infer<typeof ModelInfo>;

export const Deployment = z.looseObject({
  model_name: z.coerce.string().min(1),
  litellm_params: LitellmParams,
  model_info: ModelInfo.nullish(),
});
export type Deployment = z.infer<typeof Deployment>;

export const Credential = z.looseObject({
  credential_name: Text,
  credential_values: Settings,
});

/** `[{ a: [b, c] }]`, in later versions `{ a: [b, c] }` too. */
export const Fallbacks = z.union([
  z.array(z.record(z.string(), Names)).transform((rows) => rows.flatMap((row) => Object.entries(row))),
  z.record(z.string(), Names).transform((row) => Object.entries(row)),
]);

export const Alias = z.union([
  Text.transform((model) => ({ model })),
  z.looseObject({ model: Text }).transform(({ model }) => ({ model })),
]);

export const Reliability = {
  num_retries: Amount,
  allowed_fails: Amount,
  cooldown_time: Amount,
  timeout: Amount,
  request_timeout: Amount,
} as const;

/** The outline; each part is read by itself, so that one that is not understood does not take the others with it. */
export const LitellmFile = z.looseObject({
  include: z.array(Text).nullish(),
  model_list: z.array(z.unknown()).nullish(),
  credential_list: z.array(z.unknown()).nullish(),
  router_settings: Settings.nullish(),
  litellm_settings: Settings.nullish(),
  general_settings: Settings.nullish(),
  environment_variables: Settings.nullish(),
});
export type LitellmFile = z.infer<typeof LitellmFile>;
