import { z } from 'zod';
import { ERRORS, type ErrorCode } from './error-codes.ts';

/** The body shape that a caller understands. It follows the endpoint called, never the upstream. */
export type Dialect = 'openai' | 'anthropic' | 'google';

const codes = Object.keys(ERRORS);
const ErrorCodeSchema = z.custom<ErrorCode>((value) => typeof value === 'string' && codes.includes(value));

/** Who refused the request: the gateway, or the provider. Sent as `x-gateway-refused-by`. */
const ErrorSource = z.enum(['gateway', 'upstream']);

const ErrorOptions = z.object({
  /** For the caller: what happened and what to do. One text, or one per dialect if they differ; Google's clients get OpenAI's. */
  message: z.union([z.string(), z.object({ openai: z.string(), anthropic: z.string() })]),
  /** The path in the request: `['input', 0, 'content']`. OpenAI's `param`; Anthropic's message prefix. */
  path: z.array(z.union([z.string(), z.number()])).optional(),
  source: ErrorSource.optional(),
  retryAfterSeconds: z.number().optional(),
  /** Overrides the code's own `x-should-retry`. */
  retry: z.boolean().optional(),
  /** Extra response headers, such as `allow` or the rate-limit set. */
  headers: z.record(z.string(), z.string()).optional(),
  /** An upstream's error body in the caller's own dialect, relayed byte for byte with its status. */
  relay: z.object({ status: z.number(), body: z.string() }).optional(),
});
export type GatewayErrorOptions = z.infer<typeof ErrorOptions> & {
  /** For the log only. */
  cause?: unknown;
};

/** A `GatewayError` as it crosses a process: a failed job's reason, an error event. The cause is left out. */
export const SerializedError = ErrorOptions.extend({ code: ErrorCodeSchema });
export type SerializedError = z.infer<typeof SerializedError>;

/** The only error for callers. Any other thrown value is a bug, shown as `internal`. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly code: ErrorCode;
  readonly options: GatewayErrorOptions;

  constructor(code: ErrorCode, options: GatewayErrorOptions | string) {
    const full = typeof options === 'string' ? { message: options } : options;
    super(typeof full.message === 'string' ? full.message : full.message.openai, { cause: full.cause });
    this.code = code;
    this.options = full;
  }

  get source(): 'gateway' | 'upstream' {
    return this.options.source ?? 'gateway';
  }

  get retry(): boolean {
    return this.options.retry ?? ERRORS[this.code].retry;
  }

  /** The HTTP status for callers of this dialect. */
  status(dialect: Dialect): number {
    const { relay } = this.options;
    return relay?.status ?? ERRORS[this.code][dialect === 'anthropic' ? dialect : 'openai'].status;
  }

  serialize(): SerializedError {
    return SerializedError.parse({ ...this.options, code: this.code });
  }

  static deserialize({ code, ...options }: SerializedError): GatewayError {
    return new GatewayError(code, options);
  }
}
