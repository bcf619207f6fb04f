import { jsonIn } from '@gateway/contracts/json/json-object';
import { lookUp } from '@gateway/contracts/look-up';
import { z } from 'zod';
import { readProviderError } from '../failures/provider-error.ts';
import type { Library } from './library.ts';
import { TaskRefused } from './library-fetch.ts';

export interface Refusal {
  readonly status: number;
  readonly headers: Record<string, string>;
  /** In the protocol's shape. */
  readonly error: { readonly message: string; readonly type: string; readonly code: string | null };
}

const TYPE = 'invalid_request_error';

/** What the libraries throw for an answer with an error: `APICallError`, known by its members so that nothing is loaded for it. */
const AnsweredError = z.object({
  message: z.string(),
  statusCode: z.int().refine((status) => status < 200 || status > 299),
  responseHeaders: z.record(z.string(), z.string()).optional(),
  responseBody: z.string().optional(),
});

/** The same, thrown by the models that are ours. */
export class AnsweredWithError extends Error {
  readonly statusCode: number;
  readonly responseHeaders: Record<string, string>;
  readonly responseBody: string;

  constructor(message: string, { status, headers }: Response, body: string) {
    super(message);
    this.statusCode = status;
    this.responseHeaders = Object.fromEntries(headers);
    this.responseBody = body;
  }
}

/** Whether the provider answered with an error, so that it certainly did not begin. */
export const isRefused = (error: unknown): boolean => AnsweredError.safeParse(error).success;

/** The provider's own answer, in the protocol's words; null where it did not give one. */
export function refusalOf(error: unknown, library: Library): Refusal | null {
  if (error instanceof TaskRefused)
    return { status: 400, headers: {}, error: { message: error.message, type: TYPE, code: error.code } };
  const answer = AnsweredError.safeParse(error).data;
  if (answer === undefined) return null;
  const { message, code } = wordsOf(answer.responseBody ?? '');
  return {
    status: answer.statusCode,
    headers: answer.responseHeaders ?? {},
    error: {
      message: message || answer.message,
      type: TYPE,
      code: lookUp(library.errorCodes ?? {}, code ?? undefined) ?? null,
    },
  };
}

const Detail = z.object({ message: z.string(), status: z.string().optional() });
/** The shapes of errors that our own reader of provider errors does not know. */
const ErrorWords = z.union([
  // ElevenLabs
  z
    .object({ detail: Detail })
    .transform(({ detail }) => ({ message: detail.message, code: detail.status ?? null })),
  // fal and Black Forest Labs: FastAPI's error for a body that does not fit
  z
    .object({ detail: z.array(z.object({ msg: z.string(), loc: z.array(z.unknown()).optional() })).min(1) })
    .transform(({ detail }) => ({
      message: detail.map(({ msg, loc }) => [loc?.join('.'), msg].filter(Boolean).join(': ')).join('; '),
      code: null,
    })),
  // Deepgram
  z.object({ err_code: z.string(), err_msg: z.string() }).transform(({ err_msg, err_code }) => ({
    message: err_msg,
    code: err_code,
  })),
]);

function wordsOf(body: string): { readonly message: string; readonly code: string | null } {
  return ErrorWords.safeParse(jsonIn(body)).data ?? readProviderError(body);
}

/** A library that will not send what it was given throws before it has sent anything. Other errors are faults. */
export const ownRefusal = (error: unknown): Refusal | null =>
  error instanceof Error && OWN_ERROR.test(error.name) && !('syscall' in error)
    ? { status: 400, headers: {}, error: { message: error.message, type: TYPE, code: null } }
    : null;

const OWN_ERROR = /^(?:Error|AI_\w+)$/;

/** What broke the connection, from within what the library made of it. */
export function causeOf(error: unknown): Error {
  let current = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth += 1) {
    if ('code' in current && typeof current.code === 'string') return current;
    if (!(current.cause instanceof Error)) return current;
    current = current.cause;
  }
  return current instanceof Error ? current : new Error(String(current));
}
