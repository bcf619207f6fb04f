import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { awsErrorReply } from '../bedrock/error-reply.ts';
import type { Admitted, Cloud } from '../clouds/cloud.ts';
import { googleError, invalidKey, isGoogle } from '../gemini/google-error.ts';
import type { LedgerEntry } from '../ledger.ts';
import type { Provider } from '../provider.ts';
import { ProviderError } from '../replies/provider-error.ts';
import type { Reply } from '../replies/reply.ts';
import { sendReply } from '../replies/send-reply.ts';
import { NAMED_FAULTS } from '../script/fault-table.ts';
import type { ScriptedReply, ScriptQueue } from '../script/script-queue.ts';
import { scriptedReply } from '../script/scripted-reply.ts';
import { type Call, createCall, type Dialect, type RepeatCounter } from './call.ts';
import { RecordedRequest } from './recorded-request.ts';
import type { RequestLog } from './request-log.ts';
import { findRoute } from './routes.ts';

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
const replyHeaders = (call: Call, reply: Reply): Record<string, string> => {
  const headers: Record<string, string> = { 'content-type': reply.contentType };
  if (call.dialect === 'aws') Object.assign(headers, { 'x-amzn-requestid': call.requestId });
  else if (call.dialect === 'anthropic')
    Object.assign(headers, ANTHROPIC_HEADERS, { 'request-id': call.requestId });
  else if (!isGoogle(call.request.path))
    Object.assign(headers, OPENAI_HEADERS, { 'x-request-id': call.requestId });
  if (reply.isStream) Object.assign(headers, STREAM_HEADERS);
  return Object.assign(headers, reply.headers, call.scripted?.headers);
};

const INVALID_KEY_PREFIX = 'sk-invalid';
const BEARER = /^Bearer\s+(\S+)$/i;

const masked = (key: string): string => `${key.slice(0, 7)}*****${key.slice(-4)}`;

/**
 * Finds the caller's key in the protocol's header: `Authorization: Bearer`, Anthropic's `x-api-key`, Azure's
 * `api-key`.
 * @throws ProviderError 401 without a key, or with one that is not accepted
 */
const checkKey = ({ request, dialect, provider }: Call): void => {
  const { headers } = request;
  const bearer = BEARER.exec(headers.authorization ?? '')?.[1];
  const header = headers['x-api-key'] ?? headers['api-key'] ?? headers['x-goog-api-key'];
  const key = (typeof header === 'string' ? header : undefined) ?? bearer;
  // A signature: who checks it stands in front of this.
  if (dialect === 'aws' && headers.authorization?.startsWith('AWS4-')) return;
  if (!key) throw new ProviderError(NAMED_FAULTS['no-key'][dialect === 'openai' ? dialect : 'anthropic']);

  const accepted = provider.apiKeys?.includes(key) ?? !key.startsWith(INVALID_KEY_PREFIX);
  if (accepted) return;
  if (isGoogle(request.path)) throw invalidKey();
  if (dialect === 'anthropic') {
    throw new ProviderError({ status: 401, message: header ? 'invalid x-api-key' : 'Invalid bearer token' });
  }
  throw new ProviderError({
    status: 401,
    message: `Incorrect API key provided: ${masked(key)}. You can find your API key at https://platform.openai.com/account/api-keys.`,
  });
};

/** A request whose reply is over. */
export interface Served {
  readonly request: RecordedRequest;
  /** The reply's status; a fault may have replaced it. */
  readonly status: number;
  /** What the answer used; null for an error, and for what is not billed. */
  readonly used: LedgerEntry | null;
  /** Whether the reply was sent to its end. */
  readonly isComplete: boolean;
}

export interface RequestHandlerOptions {
  readonly provider: Provider;
  readonly log: RequestLog | null;
  readonly scripts: ScriptQueue;
  readonly repeats: RepeatCounter;
  readonly cloud?: Cloud | undefined;
  readonly behave?: ((request: RecordedRequest) => ScriptedReply | undefined) | undefined;
  readonly onServed?: ((served: Served) => void) | undefined;
}

const UPSTREAM_TROUBLE = 'The server had an error while processing your request.';
const MAX_BODY_BYTES = 256 * 1024 * 1024;

const dialectOf = (path: string): Dialect => {
  if (path.startsWith('/model/') || path.startsWith('/guardrail/')) return 'aws';
  return path === '/v1/messages' || path.startsWith('/v1/messages/') ? 'anthropic' : 'openai';
};

const readBody = (message: IncomingMessage, done: (body: Buffer | null) => void): void => {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  message.on('data', (chunk: Buffer) => {
    sizeBytes += chunk.length;
    if (sizeBytes <= MAX_BODY_BYTES) chunks.push(chunk);
  });
  message.on('end', () => {
    if (sizeBytes > MAX_BODY_BYTES) done(null);
    else done(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
  });
};

const answer = async (call: Call): Promise<Reply> => {
  try {
    const scripted = call.scripted && scriptedReply(call.scripted);
    if (scripted) return scripted;
    const route = findRoute(call.request.method, call.request.path);
    if (route.needsKey) checkKey(call);
    const reply = await route.handler({ ...call, params: route.params });
    if (reply.isStream || call.wish().errorEventAfter === undefined) return reply;
    // A whole body cannot have an error event: the same failure is a status there.
    throw new ProviderError({ status: 500, message: UPSTREAM_TROUBLE });
  } catch (error) {
    const shown =
      error instanceof ProviderError
        ? error
        : new ProviderError({ status: 500, message: `The simulator itself failed: ${String(error)}` });
    return errorReply(shown, call);
  }
};

/** Reads each request whole, records it, answers it. */
export const createRequestHandler = (options: RequestHandlerOptions): RequestListener => {
  const { provider, log, scripts, repeats, cloud, behave, onServed } = options;

  const serve = async (request: RecordedRequest, response: ServerResponse): Promise<void> => {
    const admitted = cloud?.admit(request) ?? null;
    const refused = admitted !== null && 'chunks' in admitted ? admitted : null;
    const asked = admitted === null || 'chunks' in admitted ? request : admittedRequest(request, admitted);
    const dialect = dialectOf(asked.path);
    const scripted = scripts.take(request) ?? behave?.(request);
    const requestId = provider.ids.next('req_');
    const call = createCall({ provider, request: asked, requestId, dialect, params: [], scripted, repeats });
    const reply = refused ?? (await answer(call));
    let complete = false;
    response.once('close', () => {
      if (!complete && reply.ledger) provider.ledger.addBroken(reply.ledger.model);
      reply.onEnd?.(complete);
      onServed?.({ request, status: reply.status, used: reply.ledger ?? null, isComplete: complete });
    });
    await sendReply({
      response,
      reply,
      directives: call.wish(),
      headers:
        refused === null
          ? replyHeaders(call, reply)
          : { 'content-type': refused.contentType, ...refused.headers },
      gate: scripted?.gate,
      resume: scripted?.resume,
      onComplete: () => {
        complete = true;
        if (reply.ledger) provider.ledger.add(reply.ledger);
      },
    });
  };

  return (message, response) => {
    const request = new RecordedRequest(message);
    log?.add(request);
    response.once('close', () => request.markClosed(response.writableFinished ? 'complete' : 'aborted'));
    readBody(message, (body) => {
      request.markReceived(body ?? Buffer.alloc(0));
      serve(request, response).catch((error: unknown) =>
        response.destroy(error instanceof Error ? error : undefined),
      );
    });
  };
};

/** As the models behind a cloud's gate see it. */
function admittedRequest(
  { method, rawHeaders, url, path: asked }: RecordedRequest,
  { path, headers, body }: Admitted,
): RecordedRequest {
  const query = url.slice(asked.length);
  const request = new RecordedRequest({
    method,
    url: `${path}${query}`,
    headers,
    rawHeaders: [...rawHeaders],
  });
  request.markReceived(body);
  return request;
}

/** An error in the body shape of the endpoint that was called. */
const errorReply = (
  error: ProviderError,
  { dialect, request, requestId }: Pick<Call, 'dialect' | 'request' | 'requestId'>,
): Reply => {
  if (dialect === 'aws') return awsErrorReply(error);
  const body =
    dialect === 'anthropic'
      ? { type: 'error', error: error.anthropicError(), request_id: requestId }
      : isGoogle(request.path)
        ? googleError(error)
        : { error: error.openaiError() };
  return {
    status: error.status,
    contentType: 'application/json',
    chunks: [JSON.stringify(body)],
    isStream: false,
    ...(error.options.headers && { headers: error.options.headers }),
  };
};
