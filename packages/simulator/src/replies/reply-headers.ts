import type { Call } from '../requests/call.ts';
import type { Reply } from './reply.ts';

const LIMIT_REQUESTS = '10000';
const LIMIT_TOKENS = '2000000';

const OPENAI_HEADERS = {
  'openai-processing-ms': '1',
  'openai-version': '2020-10-01',
  'x-ratelimit-limit-requests': LIMIT_REQUESTS,
  'x-ratelimit-remaining-requests': '9999',
  'x-ratelimit-reset-requests': '6ms',
  'x-ratelimit-limit-tokens': LIMIT_TOKENS,
  'x-ratelimit-remaining-tokens': '1999000',
  'x-ratelimit-reset-tokens': '30ms',
};

const ANTHROPIC_HEADERS = {
  'anthropic-organization-id': '00000000-0000-4000-8000-000000000000',
  'anthropic-ratelimit-requests-limit': LIMIT_REQUESTS,
  'anthropic-ratelimit-requests-remaining': '9999',
  'anthropic-ratelimit-requests-reset': '2026-11-20T00:00:00Z',
  'anthropic-ratelimit-tokens-limit': LIMIT_TOKENS,
  'anthropic-ratelimit-tokens-remaining': '1999000',
  'anthropic-ratelimit-tokens-reset': '2026-11-20T00:00:00Z',
};

const STREAM_HEADERS = { 'cache-control': 'no-cache', 'x-accel-buffering': 'no' };

/** The headers that the real providers put on every reply, the reply's own, and those of a test's script. */
export const replyHeaders = (call: Call, reply: Reply): Record<string, string> => {
  const headers: Record<string, string> = { 'content-type': reply.contentType };
  if (call.dialect === 'anthropic')
    Object.assign(headers, ANTHROPIC_HEADERS, { 'request-id': call.requestId });
  else Object.assign(headers, OPENAI_HEADERS, { 'x-request-id': call.requestId });
  if (reply.isStream) Object.assign(headers, STREAM_HEADERS);
  return Object.assign(headers, reply.headers, call.scripted?.headers);
};
