import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { LedgerEntry } from '../ledger.ts';
import type { Provider } from '../provider.ts';
import { ProviderError } from '../replies/provider-error.ts';
import type { Reply } from '../replies/reply.ts';
import { replyHeaders } from '../replies/reply-headers.ts';
import { sendReply } from '../replies/send-reply.ts';
import type { ScriptedReply, ScriptQueue } from '../script/script-queue.ts';
import { scriptedReply } from '../script/scripted-reply.ts';
import { type Call, createCall, type Dialect, type RepeatCounter } from './call.ts';
import { checkKey } from './check-key.ts';
import { RecordedRequest } from './recorded-request.ts';
import type { RequestLog } from './request-log.ts';
import { findRoute } from './routes.ts';

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
  readonly behave?: ((request: RecordedRequest) => ScriptedReply | undefined) | undefined;
  readonly onServed?: ((served: Served) => void) | undefined;
}

const UPSTREAM_TROUBLE = 'The server had an error while processing your request.';
const MAX_BODY_BYTES = 256 * 1024 * 1024;

const dialectOf = (path: string): Dialect =>
  path === '/v1/messages' || path.startsWith('/v1/messages/') ? 'anthropic' : 'openai';

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
  const { provider, log, scripts, repeats, behave, onServed } = options;

  const serve = async (request: RecordedRequest, response: ServerResponse): Promise<void> => {
    const dialect = dialectOf(request.path);
    const scripted = scripts.take(request) ?? behave?.(request);
    const requestId = provider.ids.next('req_');
    const call = createCall({ provider, request, requestId, dialect, params: [], scripted, repeats });
    const reply = await answer(call);
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
      headers: replyHeaders(call, reply),
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

/** An error in the body shape of the endpoint that was called. */
const errorReply = (
  error: ProviderError,
  { dialect, requestId }: Pick<Call, 'dialect' | 'requestId'>,
): Reply => {
  const body =
    dialect === 'anthropic'
      ? { type: 'error', error: error.anthropicError(), request_id: requestId }
      : { error: error.openaiError() };
  return {
    status: error.status,
    contentType: 'application/json',
    chunks: [JSON.stringify(body)],
    isStream: false,
    ...(error.options.headers && { headers: error.options.headers }),
  };
};
