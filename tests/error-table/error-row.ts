import { expect } from 'vitest';
import type { Gateway, GatewayRequest } from '../support/start-gateway.ts';

/** A request and the error that answers it. */
export interface ErrorCase {
  readonly path: string;
  readonly request: GatewayRequest;
  readonly error: ExpectedError;
}

/** What the caller gets, in the body shape of the endpoint. */
export type ExpectedError = OpenaiError | AnthropicError;

interface OpenaiError {
  readonly status: number;
  readonly type: string;
  readonly code: string | null;
  readonly param: string | null;
  readonly message: RegExp;
}

interface AnthropicError {
  readonly status: number;
  readonly anthropicType: string;
  readonly message: RegExp;
  /** `error.details.error_code`, where there is one. */
  readonly errorCode?: string;
}

/** Everything that one condition looks like. */
export interface ErrorRow {
  /** What `x-should-retry` says. */
  readonly retry: boolean;
  readonly refusedBy?: 'gateway' | 'upstream';
  readonly headers?: Readonly<Record<string, string>>;
  readonly cases: readonly ErrorCase[];
}

export const openai = (
  status: number,
  [type, code, param]: readonly [type: string, code: string | null, param?: string | null],
  message: RegExp = /./,
): OpenaiError => ({ status, type, code, param: param ?? null, message });

/** 400 `invalid_request_error` with this code and parameter. */
export const invalid = (code: string | null, param: string | null, message: RegExp = /./): OpenaiError =>
  openai(400, ['invalid_request_error', code, param], message);

export const anthropic = (
  status: number,
  anthropicType: string,
  message: RegExp = /./,
  errorCode?: string,
): AnthropicError => ({
  status,
  anthropicType,
  message,
  ...(errorCode === undefined ? {} : { errorCode }),
});

export const invalidMessage = (message: RegExp): AnthropicError =>
  anthropic(400, 'invalid_request_error', message);

type Change = Record<string, unknown>;

const caseOf = (path: string, base: Change) => (change: Change | GatewayRequest, error: ExpectedError) =>
  isRequest(change)
    ? { path, request: { json: base, ...change }, error }
    : { path, request: { json: { ...base, ...change } }, error };

const REQUEST_MEMBERS = ['body', 'headers', 'method', 'json'];
const isRequest = (change: Change | GatewayRequest): change is GatewayRequest =>
  Object.keys(change).some((name) => REQUEST_MEMBERS.includes(name));

/** A good request, changed: members of its JSON body, or a request that replaces it (`body`, `headers`, `json`). */
export const responses = caseOf('/v1/responses', { model: 'gpt-5.2', input: 'hello' });
export const messages = caseOf('/v1/messages', {
  model: 'claude-sonnet-5-5',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'hello' }],
});
export const countTokens = caseOf('/v1/messages/count_tokens', {
  model: 'claude-sonnet-5-5',
  messages: [{ role: 'user', content: 'hello' }],
});
export const images = caseOf('/v1/images/generations', { model: 'dall-e-3', prompt: 'a house' });
export const speech = caseOf('/v1/audio/speech', { model: 'tts-1', voice: 'alloy', input: 'hello' });
export const completions = caseOf('/v1/completions', { model: 'gpt-5.2', prompt: 'hello' });
export const embeddings = caseOf('/v1/embeddings', { model: 'text-embedding-3-small', input: 'hello' });
export const rerank = caseOf('/v1/rerank', { model: 'rerank-v4.0', query: 'hello', documents: ['one'] });
export const moderations = caseOf('/v1/moderations', { model: 'omni-moderation-latest', input: 'hello' });

const formCaseOf = (path: string) => (parts: Record<string, string | File>, error: ExpectedError) => {
  const body = new FormData();
  for (const [name, value] of Object.entries(parts)) {
    if (typeof value === 'string') body.append(name, value);
    else body.append(name, value, value.name);
  }
  return { path, request: { body }, error };
};
export const transcriptions = formCaseOf('/v1/audio/transcriptions');
export const translations = formCaseOf('/v1/audio/translations');
export const edits = formCaseOf('/v1/images/edits');

/** The same on the endpoints that take JSON, with what each of the two body shapes says. */
export const everywhere = (
  change: Change | GatewayRequest,
  o: OpenaiError,
  a: AnthropicError,
): ErrorCase[] => [
  messages(change, a),
  ...[responses, images, speech, completions, embeddings, rerank, moderations].map((one) => one(change, o)),
];

/** Statuses whose errors, where they are worth a retry, say when. */
const WITH_RETRY_AFTER = new Set([429, 503, 529]);

/** Asks, and checks everything that a client can see of the error. */
export async function expectError(
  gateway: Gateway,
  row: Omit<ErrorRow, 'cases'>,
  { path, request, error }: ErrorCase,
) {
  const response = await gateway.fetch(path, request);
  await expectErrorReply(response, row, error);
}

export async function expectErrorReply(
  response: Response,
  { retry, refusedBy = 'gateway', headers = {} }: Omit<ErrorRow, 'cases'>,
  error: ExpectedError,
): Promise<void> {
  const text = await response.text();
  expect(response.status, text).toBe(error.status);
  const sent = Object.fromEntries(response.headers);
  expect(sent).toMatchObject({
    'content-type': 'application/json',
    'x-should-retry': String(retry),
    'x-gateway-refused-by': refusedBy,
    'x-request-id': expect.stringMatching(/^req_[0-9a-f]{32}$/),
    'request-id': sent['x-request-id'],
    ...headers,
  });
  if (retry && WITH_RETRY_AFTER.has(error.status)) expect(sent['retry-after']).toMatch(/^\d+$/);
  if (!retry) expect(sent).not.toHaveProperty('retry-after');
  const { message } = error;
  expect(JSON.parse(text)).toEqual(
    'anthropicType' in error
      ? {
          type: 'error',
          error: {
            type: error.anthropicType,
            message: expect.stringMatching(message),
            ...(error.errorCode === undefined ? {} : { details: { error_code: error.errorCode } }),
          },
          request_id: expect.stringMatching(/^req_/),
        }
      : {
          error: {
            message: expect.stringMatching(message),
            type: error.type,
            code: error.code,
            param: error.param,
          },
        },
  );
}
