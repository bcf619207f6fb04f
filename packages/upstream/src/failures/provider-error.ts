import { jsonIn } from '@gateway/contracts/json/json-object';
import { z } from 'zod';

/** A provider's error, from any of the error bodies in use. */
export interface ProviderError {
  /** Empty if the body was not an error object. */
  readonly message: string;
  readonly type: string | null;
  readonly code: string | null;
  readonly param: string | null;
  /** Anthropic's `error.details.error_code`; Google's reason, or the quota that is spent for the day. */
  readonly detail: string | null;
  /** How long to wait, as Google says it: `23s`. */
  readonly retryDelay: string | null;
  /** The input's length and its limit, which llama.cpp sends in their own members. */
  readonly tokens: { readonly input: number; readonly maximum: number } | null;
}

const text = z.string().nullish().catch(null);
const count = z.int().nullish().catch(null);
const word = z
  .union([z.string(), z.number().transform(String)])
  .nullish()
  .catch(null);

interface Details {
  readonly detail: string | null;
  readonly field: string | null;
  readonly retryDelay: string | null;
}

const AnthropicDetails = z
  .object({ error_code: text })
  .transform(({ error_code }): Details => ({ detail: error_code ?? null, field: null, retryDelay: null }));

const Violation = z.object({ quotaId: text, field: text });
const Violations = z.array(Violation.catch({ quotaId: null, field: null })).catch([]);

/** A quota of a day: waiting for it is in vain. */
const OF_A_DAY = /PerDay/i;
export const DAILY_QUOTA = 'quota_of_a_day';

/** Google's list: why (`ErrorInfo`), what of the request (`BadRequest`), which quota, how long to wait. */
const GoogleDetails = z
  .array(
    z
      .object({ reason: text, retryDelay: text, violations: Violations, fieldViolations: Violations })
      .catch({ reason: null, retryDelay: null, violations: [], fieldViolations: [] }),
  )
  .transform((list): Details => {
    const isOfDay = list.some(({ violations }) =>
      violations.some(({ quotaId }) => OF_A_DAY.test(quotaId ?? '')),
    );
    const field = list.flatMap(({ fieldViolations }) => fieldViolations).find((one) => one.field)?.field;
    return {
      detail: isOfDay ? DAILY_QUOTA : (list.find(({ reason }) => reason)?.reason ?? null),
      field: field ? camelCase(field) : null,
      retryDelay: list.find(({ retryDelay }) => retryDelay)?.retryDelay ?? null,
    };
  });

/** A path of Google's, as the request has its members: `generation_config.top_k`. */
const camelCase = (field: string): string =>
  field.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

const NO_DETAILS: Details = { detail: null, field: null, retryDelay: null };

const AnyDetails = z.union([AnthropicDetails, GoogleDetails]);
const detailsIn = (given: unknown): Details => AnyDetails.safeParse(given).data ?? NO_DETAILS;

const ErrorObject = z.object({
  message: z.string().catch(''),
  type: text,
  code: word,
  // Google's word beside the number.
  status: word,
  param: text,
  details: z.unknown().optional(),
  n_prompt_tokens: count,
  n_ctx: count,
});

/** What is said at the top of a body: small servers name the message, and what goes with it, in several ways. */
const Top = z
  .looseObject({
    ...{ message: text, msg: text, detail: text, type: text },
    ...{ code: word, status_code: word, statusCode: word, status: word },
  })
  .refine(({ message, msg, detail }) => (message ?? msg ?? detail ?? null) !== null)
  .transform(({ message, msg, detail, type, code, status_code, statusCode, status, ...rest }) => ({
    ...rest,
    message: message ?? msg ?? detail ?? '',
    code: code ?? status_code ?? statusCode ?? status,
    // Of an event of the Responses protocol it is that of the event.
    type: type === 'error' ? null : type,
  }));

/** OpenAI and Anthropic put an object below `error`; smaller servers put a text there, or the members elsewhere. */
const Body = z.union([
  z.object({ error: ErrorObject }).transform(({ error }) => error),
  z
    .looseObject({ error: z.string() })
    .transform(({ error, code, type }) => ({ message: error, code, type: type === 'error' ? null : type })),
  z.object({ response: z.object({ error: ErrorObject }) }).transform(({ response }) => response.error),
  // OpenRouter, in the answer that broke.
  z
    .object({ choices: z.tuple([z.looseObject({ error: ErrorObject })], z.unknown()) })
    .transform(({ choices: [{ error }] }) => error),
  // MiniMax.
  z
    .object({ base_resp: z.object({ status_code: z.number(), status_msg: z.string().catch('') }) })
    .transform(({ base_resp: { status_code, status_msg } }) => ({
      message: status_msg,
      code: `base_resp ${status_code}`,
    })),
  // AWS, of an operation that it does not have: under the status of an answer.
  z
    .object({ Output: z.object({ __type: z.string(), message: z.string().catch('') }) })
    .transform(({ Output: { __type: type, message } }) => ({
      message,
      code: type.slice(type.lastIndexOf('#') + 1),
    })),
  // FastAPI, of a request that does not fit.
  z
    .object({ detail: z.tuple([z.looseObject({ msg: z.string() })], z.unknown()) })
    .transform(({ detail: [{ msg }] }) => ({ message: msg })),
  // Cloudflare.
  z.object({ errors: z.tuple([ErrorObject], z.unknown()) }).transform(({ errors: [error] }) => error),
  Top,
]);

const NOTHING: ProviderError = {
  message: '',
  type: null,
  code: null,
  param: null,
  detail: null,
  retryDelay: null,
  tokens: null,
};

/** Google's `RESOURCE_EXHAUSTED` and the like. */
const STATUS_WORD = /^[A-Z_]{4,}$/;

export const readProviderError = (body: string): ProviderError => {
  const parsed = jsonIn(body);
  // Google's list of one.
  const result = Body.safeParse(Array.isArray(parsed) && parsed.length === 1 ? parsed[0] : parsed);
  if (!result.success) return NOTHING;
  const error: z.infer<typeof ErrorObject> = ErrorObject.parse(result.data);
  const { detail, field, retryDelay } = detailsIn(error.details);
  const { n_prompt_tokens: input, n_ctx: maximum } = error;
  return {
    message: error.message,
    type: error.type ?? (STATUS_WORD.test(error.status ?? '') ? (error.status ?? null) : null),
    code: error.code ?? null,
    param: error.param ?? field,
    detail,
    retryDelay,
    tokens: typeof input === 'number' && typeof maximum === 'number' ? { input, maximum } : null,
  };
};
