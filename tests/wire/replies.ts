import { dialectOf } from '@gateway/contracts/endpoints/endpoints';
import { z } from 'zod';
import type { Exchange } from './exchange.ts';

/** How a request failed. */
export interface Failure {
  /** `reply`: an error as the whole answer; `stream`: an error as its last event; `connection`: nothing that ends it. */
  readonly where: 'reply' | 'stream' | 'connection';
  /** The status of the reply; 0 without one. */
  readonly status: number;
  /** OpenAI's code or type, Anthropic's type, or how the connection ended. */
  readonly code: string;
}

/** What a reply was: an answer of this text, or a failure; and whatever is wrong with either. */
export interface Reading {
  readonly text: string | null;
  readonly failure: Failure | null;
  readonly problems: readonly string[];
}

export type TextProtocol = 'responses' | 'messages' | 'chat';

const text = z.string().min(1);
const OpenaiError = z.strictObject({
  error: z.strictObject({
    message: text,
    type: text,
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
});
const AnthropicError = z.object({
  type: z.literal('error'),
  error: z.looseObject({ type: text, message: text }),
  request_id: z.string().nullish(),
});

const GoogleError = z.strictObject({
  error: z.strictObject({
    code: z.int(),
    message: text,
    status: z.string().regex(/^[A-Z_]+$/),
    details: z.array(z.looseObject({ '@type': z.string().startsWith('type.googleapis.com/') })),
  }),
});
const ERRORS = { openai: OpenaiError, anthropic: AnthropicError, google: GoogleError } as const;

const usage = z.looseObject({ output_tokens: z.int().positive(), input_tokens: z.int().positive() });
const Response = z.looseObject({
  id: z.string().startsWith('resp_'),
  object: z.literal('response'),
  status: z.literal('completed'),
  output: z
    .array(
      z.looseObject({
        type: z.literal('message'),
        id: text,
        content: z.array(
          z.looseObject({ type: z.literal('output_text'), text, annotations: z.array(z.unknown()) }),
        ),
      }),
    )
    .length(1),
  usage,
});
const Message = z.looseObject({
  id: z.string().startsWith('msg_'),
  type: z.literal('message'),
  role: z.literal('assistant'),
  content: z.array(z.looseObject({ type: z.literal('text'), text })).length(1),
  stop_reason: z.literal('end_turn'),
  usage,
});
const Completion = z.looseObject({
  id: text,
  object: z.literal('chat.completion'),
  choices: z
    .array(
      z.looseObject({
        index: z.literal(0),
        finish_reason: z.literal('stop'),
        message: z.looseObject({ role: z.literal('assistant'), content: text }),
      }),
    )
    .length(1),
  usage: z.looseObject({ completion_tokens: z.int().positive(), prompt_tokens: z.int().positive() }),
});

/** Whole answers of each protocol, and their text. */
export const ANSWERS = {
  responses: Response.transform(({ output }) => output[0]?.content.map((part) => part.text).join('') ?? ''),
  messages: Message.transform(({ content }) => content.map((block) => block.text).join('')),
  chat: Completion.transform(({ choices }) => choices[0]?.message.content ?? ''),
} as const;

export const parseJson = (bytes: Buffer | string): unknown => {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
};

const WITH_RETRY_AFTER: readonly number[] = [429, 503, 529];

/** Reads an error of the path's dialect, and whatever is wrong with it. */
export function readError(reply: Exchange): Reading {
  const status = reply.status ?? 0;
  const problems: string[] = [];
  const body = parseJson(reply.body);
  const isReadable = ERRORS[dialectOf(reply.path)].safeParse(body).success;
  if (!isReadable) problems.push(`malformed error ${status}: ${reply.body.toString().slice(0, 300)}`);
  const shouldRetry = reply.headers['x-should-retry'];
  if (shouldRetry !== 'true' && shouldRetry !== 'false') problems.push(`${status} without x-should-retry`);
  if (
    shouldRetry === 'true' &&
    WITH_RETRY_AFTER.includes(status) &&
    !/^\d+$/.test(reply.headers['retry-after'] ?? '')
  )
    problems.push(`${status} without retry-after`);
  if (reply.headers['x-request-id'] !== reply.requestId) problems.push(`another request id in the ${status}`);
  return { text: null, failure: { where: 'reply', status, code: codeOf(body) }, problems };
}

/** The code of an error body of any dialect, else its type. */
export function codeOf(body: unknown): string {
  const { error } = z
    .object({ error: z.looseObject({}) })
    .catch({ error: {} })
    .parse(body);
  return String(error.code ?? error.type ?? 'none');
}

/** The failure of an exchange that did not end whole; null if it did. A caller who left has no failure. */
export function connectionFailure(reply: Exchange): Reading | null {
  if (reply.end === 'complete') return null;
  const problems = reply.end === 'silent' ? [`no answer to ${reply.method} ${reply.path}`] : [];
  const failure: Failure = { where: 'connection', status: reply.status ?? 0, code: reply.end };
  return { text: null, failure, problems };
}

/** Reads a whole answer by a schema that gives its content. */
export function readWhole(reply: Exchange, schema: z.ZodType<string>): Reading {
  const lost = connectionFailure(reply);
  if (lost) return lost;
  if (reply.status !== 200) return readError(reply);
  const parsed = schema.safeParse(parseJson(reply.body));
  if (parsed.success) return { text: parsed.data, failure: null, problems: [] };
  return {
    text: null,
    failure: null,
    problems: [`malformed answer: ${z.prettifyError(parsed.error)}: ${reply.body.toString().slice(0, 500)}`],
  };
}
