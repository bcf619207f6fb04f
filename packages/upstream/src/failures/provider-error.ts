import { z } from 'zod';

/** A provider's error, from any of the error bodies in use. */
export interface ProviderError {
  /** Empty if the body was not an error object. */
  readonly message: string;
  readonly type: string | null;
  readonly code: string | null;
  readonly param: string | null;
  /** Anthropic's `error.details.error_code`. */
  readonly detail: string | null;
  /** The input's length and its limit, which llama.cpp sends in their own members. */
  readonly tokens: { readonly input: number; readonly maximum: number } | null;
}

const text = z.string().nullish().catch(null);
const count = z.int().nullish().catch(null);
const ErrorObject = z.object({
  message: z.string().catch(''),
  type: text,
  code: z
    .union([z.string(), z.number().transform(String)])
    .nullish()
    .catch(null),
  param: text,
  details: z.object({ error_code: text }).nullish().catch(null),
  n_prompt_tokens: count,
  n_ctx: count,
});
/** OpenAI and Anthropic put an object below `error`; smaller servers put a text there, or the members at the top level. */
const Body = z.union([
  z.object({ error: ErrorObject }).transform(({ error }) => error),
  z.object({ error: z.string() }).transform(({ error }) => ({ message: error })),
  z.object({ response: z.object({ error: ErrorObject }) }).transform(({ response }) => response.error),
  // An event of the Responses protocol; its type is that of the event.
  z
    .looseObject({ message: z.string(), type: z.literal('error') })
    .transform(({ type: _, ...error }) => error)
    .pipe(ErrorObject),
  z.looseObject({ message: z.string() }).pipe(ErrorObject),
  z.object({ detail: z.string() }).transform(({ detail }) => ({ message: detail })),
]);

const NOTHING: ProviderError = {
  message: '',
  type: null,
  code: null,
  param: null,
  detail: null,
  tokens: null,
};

export const parseJson = (body: string): unknown => {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
};

export const readProviderError = (body: string): ProviderError => {
  const result = Body.safeParse(parseJson(body));
  if (!result.success) return NOTHING;
  const error: z.infer<typeof ErrorObject> = ErrorObject.parse(result.data);
  const { n_prompt_tokens: input, n_ctx: maximum } = error;
  return {
    message: error.message,
    type: error.type ?? null,
    code: error.code ?? null,
    param: error.param ?? null,
    detail: error.details?.error_code ?? null,
    tokens: typeof input === 'number' && typeof maximum === 'number' ? { input, maximum } : null,
  };
};
