import type { Readable } from 'node:stream';
import { errorMessage } from '@gateway/contracts/error-message';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { request } from 'undici';
import type { z } from 'zod';
import type { Account, Channel } from '../configuration/configuration.ts';
import { openAgent } from '../connecting/open-pool.ts';
import { CredentialSources, credentialReason } from '../credentials/credential-sources.ts';
import { withoutSecrets } from '../failures/clean-message.ts';
import { readProviderError } from '../failures/provider-error.ts';
import { retryAfterSeconds } from '../failures/retry-after.ts';
import type { Operation } from '../protocol.ts';
import { upstreamHeaders } from '../requests/request-headers.ts';
import { BatchCallFailed } from './batch-api.ts';

const MINUTE_MS = 60_000;
/** An answer that is no file. */
const MAX_ANSWER_BYTES = 4_194_304;
const MAX_REASON_CHARS = 300;

interface BatchRequest {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  /** Full, with its query. */
  readonly path: string;
  /** The caller's, of which those of the protocol are passed on. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | { readonly open: () => Readable; readonly sizeBytes: number };
  readonly contentType?: string;
  /** Default: a minute. */
  readonly limitMs?: number;
  readonly signal: AbortSignal;
}

/** Requests for the batches of one account at a provider. They throw `BatchCallFailed`, whose messages hold no secrets. */
export interface BatchRequests {
  json<Schema extends z.ZodType>(schema: Schema, request: BatchRequest): Promise<z.output<Schema>>;
  /** Without looking at the answer. */
  send(request: BatchRequest): Promise<void>;
  /** The bytes of the answer as they come. */
  bytes(request: BatchRequest): AsyncGenerator<Buffer>;
  close(): Promise<void>;
}

/** @param operation the one whose headers its requests have */
export function openBatchRequests(channel: Channel, account: Account, operation: Operation): BatchRequests {
  const { origin, network, connectMs } = channel;
  const dispatcher = openAgent({ network, connectMs });
  const credentials = new CredentialSources({}).of(channel, account);
  const clean = (text: string): string =>
    withoutSecrets(text.replaceAll(/\s+/g, ' '), { account }).slice(0, MAX_REASON_CHARS);

  const open = async (asked: BatchRequest) => {
    const { method = 'GET', path, body, contentType = 'application/json', limitMs = MINUTE_MS } = asked;
    const isStream = typeof body === 'object';
    const { 'content-type': _, ...callers } = asked.headers ?? {};
    const headers = upstreamHeaders(account, callers, operation, isStream ? body.sizeBytes : null);
    if (body !== undefined) headers.push('content-type', contentType);
    const sent = { method, origin, path, headers, body: isStream ? ('streamed' as const) : (body ?? null) };
    try {
      headers.push(...((await credentials?.authorize(sent))?.headers ?? []));
    } catch (error) {
      throw new BatchCallFailed(`no credentials: ${credentialReason(error, account)}`, { status: 401 });
    }
    const signal = AbortSignal.any([asked.signal, AbortSignal.timeout(limitMs)]);
    try {
      return await request(origin + path, {
        dispatcher,
        method,
        headers,
        body: isStream ? body.open() : (body ?? null),
        signal,
      });
    } catch (cause) {
      throw noAnswer(asked, clean(errorMessage(cause)), cause);
    }
  };

  const answered = async (asked: BatchRequest) => {
    const reply = await open(asked);
    const { statusCode: status, headers } = reply;
    if (status >= 200 && status < 300) return reply;
    const text = await textOf(asked, reply.body);
    const error = readProviderError(text);
    const words = clean(error.message) || 'no reason given';
    throw new BatchCallFailed(`it answered ${status}: ${words}`, {
      status,
      retryAfterSeconds: retryAfterSeconds(headers, error, Date.now()),
    });
  };

  const textOf = async (asked: BatchRequest, body: AsyncIterable<Buffer>): Promise<string> => {
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    try {
      for await (const chunk of body) {
        sizeBytes += chunk.length;
        if (sizeBytes > MAX_ANSWER_BYTES) throw new Error('the answer is too long');
        chunks.push(chunk);
      }
    } catch (cause) {
      throw noAnswer(asked, clean(errorMessage(cause)), cause);
    }
    return Buffer.concat(chunks).toString();
  };

  return {
    json: async (schema, asked) => {
      const reply = await answered(asked);
      const read = schema.safeParse(jsonIn(await textOf(asked, reply.body)));
      if (read.success) return read.data;
      throw new BatchCallFailed('it answered with something else than its batches have', {
        status: null,
        cause: read.error,
      });
    },
    send: async (asked) => {
      const reply = await answered(asked);
      await textOf(asked, reply.body);
    },
    bytes: async function* (asked) {
      const reply = await answered(asked);
      try {
        for await (const chunk of reply.body) yield chunk;
      } catch (cause) {
        throw noAnswer(asked, clean(errorMessage(cause)), cause);
      }
    },
    close: () => dispatcher.destroy(),
  };
}

/** Where its caller has ended the request, that is the reason. */
function noAnswer({ signal }: BatchRequest, reason: string, cause: unknown): unknown {
  return signal.aborted
    ? signal.reason
    : new BatchCallFailed(`no answer: ${reason}`, { status: null, cause });
}

export const HOUR_MS = 60 * MINUTE_MS;
