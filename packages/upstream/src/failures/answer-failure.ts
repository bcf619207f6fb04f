import type { IncomingHttpHeaders } from 'node:http';
import type { Dialect, GatewayErrorOptions } from '@gateway/contracts/gateway-error';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { z } from 'zod';
import type { Candidate } from '../candidate.ts';
import { awsErrorCode } from '../credentials/aws/aws-error-code.ts';
import { ADVICE, describeAuth } from '../credentials/describe-auth.ts';
import { troubleOfAnswer } from '../health/causes/trouble-of-answer.ts';
import { dialectOfProtocol } from '../protocol.ts';
import { cleanMessage, withoutOwnSecrets, withoutSecrets } from './clean-message.ts';
import type { Failure } from './failure.ts';
import { classifyAnswer, type FailureKind, failureRule } from './failure-rules.ts';
import { operatorAdvice } from './operator-advice.ts';
import { type ProviderError, readProviderError } from './provider-error.ts';
import { retryAfterSeconds } from './retry-after.ts';
import { tooLongForMessages } from './too-long.ts';

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Context {
  readonly candidate: Candidate;
  /** The caller's dialect. */
  readonly dialect: Dialect;
  readonly namesObject: boolean;
  /** The request was translated: the caller uses another protocol. */
  readonly translated: boolean;
}

/** The message for a refusal that the caller can correct. */
const refusal = (error: ProviderError, status: number, candidate: Candidate): string =>
  error.message === ''
    ? `The upstream refused this request (HTTP ${status}).`
    : cleanMessage(error.message, candidate);

/** Anthropic's error types by status. Every other refusal is an ordinary mistake. */
const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  404: 'not_found_error',
  413: 'request_too_large',
};

const AnthropicBody = z.object({ type: z.literal('error'), error: z.object({ message: z.string().min(1) }) });

/**
 * The body that a caller of the provider's own dialect gets. Anthropic's is relayed byte for byte, because its clients
 * recover by its wording, unless it names an ARN or a key; other servers with its protocol may have another shape. OpenAI's
 * keeps type, param and code around a cleaned message.
 */
const relayBody = (answer: ErrorAnswer, error: ProviderError, message: string, context: Context): string => {
  if (context.dialect === 'anthropic') {
    const isHarmless = withoutSecrets(error.message, context.candidate) === error.message;
    if (isHarmless && AnthropicBody.safeParse(jsonIn(answer.body)).success)
      return withoutOwnSecrets(answer.body, context.candidate);
    const type = ANTHROPIC_TYPES[answer.status] ?? 'invalid_request_error';
    return JSON.stringify({ type: 'error', error: { type, message } });
  }
  const { type, param, code } = error;
  return JSON.stringify({ error: { message, type: type ?? 'invalid_request_error', param, code } });
};

/** The path in the request that the provider got. Anthropic puts it before the message: `tools.0.name: …`. */
const pathOf = ({ param, message }: ProviderError): Pick<GatewayErrorOptions, 'path'> => {
  const path = param ?? /^([a-z_]+(?:\.\w+)*): /.exec(message)?.[1];
  if (!path) return {};
  const steps = path.split(/[.[\]]+/).filter((step) => step !== '');
  return { path: steps.map((step) => (/^\d+$/.test(step) ? Number(step) : step)) };
};

/** The member with the conversation, which is `param` for OpenAI's clients when it is too long. */
const TURNS: Readonly<Record<string, string>> = { responses: 'input', chat: 'messages' };

/** Messages that the clients of each dialect recognise; a provider's own error is only relayed if it has them. */
const tooLong = (
  answer: ErrorAnswer,
  error: ProviderError,
  context: Context,
): Partial<GatewayErrorOptions> => {
  const words = refusal(error, answer.status, context.candidate);
  const message = { openai: words, anthropic: tooLongForMessages(error, words) };
  if (context.translated) return { message };
  const isKnown =
    context.dialect === 'anthropic' ? message.anthropic === words : error.code === 'context_length_exceeded';
  if (isKnown) return relayed(answer, error, words, context);
  const turns = TURNS[context.candidate.protocol];
  return context.dialect === 'anthropic' || turns === undefined ? { message } : { message, path: [turns] };
};

const relayed = (
  answer: ErrorAnswer,
  error: ProviderError,
  message: string,
  context: Context,
): Partial<GatewayErrorOptions> =>
  dialectOfProtocol(context.candidate.protocol) === context.dialect
    ? { message, relay: { status: answer.status, body: relayBody(answer, error, message, context) } }
    : { message };

const rejection = (
  answer: ErrorAnswer,
  error: ProviderError,
  context: Context,
): Partial<GatewayErrorOptions> => {
  const message = refusal(error, answer.status, context.candidate);
  if (context.translated) return { message, ...pathOf(error) };
  // The provider reports the caller's mistake as its own failure, so its body does not fit.
  return answer.status >= 500 ? { message } : relayed(answer, error, message, context);
};

/** Failures that the caller can correct: the provider's message reaches the caller. */
const QUOTING_KINDS: ReadonlySet<FailureKind> = new Set(['rejected', 'not-found', 'too-long']);

const NO_ACCESS: ReadonlySet<number> = new Set([401, 403]);

/** What happened, in the provider's words, and what to do about it. */
function detailOf(
  status: number,
  { code, type }: ProviderError,
  { words, advice }: { readonly words: string; readonly advice: string },
): string {
  // Google and Azure put the status where others have a code.
  const name = code === String(status) ? null : (code ?? type);
  const answer = [`answered ${status}`, name, words.replace(/\.$/, '')].filter(Boolean).join(', ');
  return advice === '' ? answer : `${answer}; ${advice}`;
}

/** The credentials that were refused, and what to check of them where nothing more exact is known; empty where the account has a key. */
function refusedCredentials({ account: { secrets } }: Candidate, isExplained: boolean): string {
  if (secrets.auth === null) return '';
  const sent = `sent with ${describeAuth(secrets.auth)}`;
  return isExplained ? sent : `${sent}: ${ADVICE[secrets.auth.type]}`;
}

/** The failure for a provider's error answer, with the parts that the caller gets. */
export const answerFailure = (answer: ErrorAnswer, context: Context): Failure => {
  const { status, headers, body } = answer;
  const read = readProviderError(withoutOwnSecrets(body, context.candidate));
  const error = read.code === null ? { ...read, code: awsErrorCode(headers, body) } : read;
  const { namesObject, candidate } = context;
  const kind = classifyAnswer({ status, error, namesObject, model: candidate.model });
  const nowMs = Date.now();
  const wait = retryAfterSeconds(headers, error, nowMs);
  const waitMs = wait === null ? null : wait * 1000;
  const trouble = troubleOfAnswer({ kind, status, error, headers, waitMs, candidate }, nowMs);
  // Messages about a caller's mistake may quote the request, so they are not logged.
  const quotes = QUOTING_KINDS.has(kind);
  const words = quotes ? '' : withoutSecrets(error.message, context.candidate).slice(0, 500);
  const known = operatorAdvice(status, error);
  const isRefused = kind === 'misconfigured' && NO_ACCESS.has(status);
  const advice = [known, isRefused ? refusedCredentials(candidate, known !== '') : '']
    .filter(Boolean)
    .join('; ');
  const failure = {
    kind,
    candidate: context.candidate,
    status,
    detail: detailOf(status, error, { words, advice }),
    ...(trouble === null ? {} : { trouble }),
  };
  if (kind === 'too-long') return { ...failure, options: tooLong(answer, error, context) };
  if (quotes) return { ...failure, options: rejection(answer, error, context) };
  const seconds = wait ?? failureRule(kind).retryAfterSeconds;
  if (seconds === undefined) return failure;
  // Codex reads the delay from these words.
  const message = `${failureRule(kind).message} Please try again in ${seconds}s.`;
  return {
    ...failure,
    options: { retryAfterSeconds: seconds, ...(kind === 'rate-limited' ? { message } : {}) },
  };
};
