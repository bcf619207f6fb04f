import { type FaultSpec, type ProviderErrorOptions, STATUS_FAULTS } from '../script/fault-table.ts';

/** An error that this provider answers with, in the body shape of the endpoint that was called. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly options: ProviderErrorOptions;

  constructor(options: ProviderErrorOptions) {
    super(options.message);
    this.options = options;
  }

  get status(): number {
    return this.options.status;
  }

  /** The `error` member of OpenAI's bodies and events. */
  openaiError(): { message: string; type: string; param: string | null; code: string | null } {
    const spec = specOf(this.status);
    return {
      message: this.message,
      type: this.options.type ?? spec.openaiType,
      param: this.options.param ?? null,
      code: this.options.code === undefined ? spec.openaiCode : this.options.code,
    };
  }

  /** The `error` member of Anthropic's bodies and events. */
  anthropicError(): { type: string; message: string; details?: Record<string, unknown> } {
    const { anthropicType, details } = this.options;
    return {
      type: anthropicType ?? specOf(this.status).anthropicType,
      message: this.message,
      ...(details && { details }),
    };
  }
}

const specOf = (status: number): FaultSpec =>
  STATUS_FAULTS[status] ?? (status < 500 ? UNLISTED_CLIENT_ERROR : UNLISTED_SERVER_ERROR);

const UNLISTED_CLIENT_ERROR: FaultSpec = {
  openaiType: 'invalid_request_error',
  openaiCode: null,
  anthropicType: 'invalid_request_error',
  message: 'The request was refused.',
};

const UNLISTED_SERVER_ERROR: FaultSpec = {
  openaiType: 'server_error',
  openaiCode: null,
  anthropicType: 'api_error',
  message: 'The server had an error while processing your request.',
};

/** 400 `invalid_request_error` in OpenAI's words. */
export const invalidRequest = (message: string, code: string | null, param: string | null): ProviderError =>
  new ProviderError({ status: 400, message, code, param });

/** 400 `invalid_request_error` in Anthropic's words: dotted path, colon, sentence. */
export const invalidMessages = (message: string): ProviderError =>
  new ProviderError({ status: 400, message });
