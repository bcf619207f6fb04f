import type { IncomingHttpHeaders } from 'node:http';
import { jsonIn } from '@gateway/contracts/json/json-object';
import type { Dispatcher } from 'undici';
import type { Account, Channel } from '../configuration/configuration.ts';
import { openAgent } from '../connecting/open-pool.ts';
import type { Authorization, CredentialSource } from '../credentials/credential-source.ts';
import { isPublicAddress } from '../fetching/public-address.ts';
import type { ChannelClient } from '../sending/channel-client.ts';
import type { Library } from './library.ts';

/** A provider's own no to something that it had accepted. */
export class TaskRefused extends Error {
  readonly code: string | null;

  constructor(message: string, code: string | null) {
    super(message);
    this.code = code;
  }
}

/** Gets the events of the requests of one call as they happen. */
export interface FetchObserver {
  /** A connection is about to carry a request. */
  onRequestStart(): void;
  /** Something moved. */
  onProgress(): void;
  /** A request that makes something was sent whole. */
  onPostSent(): void;
  /** And was accepted: from now on the work may be billed. */
  onPostAccepted(): void;
}

interface FetchOptions {
  readonly library: Library;
  readonly channel: Channel;
  readonly account: Account;
  /** Null: the account has a key. */
  readonly credentials: CredentialSource | null;
  /** Called where there are no credentials; the request is then not sent. */
  readonly onUnauthorized: (error: unknown) => void;
  /** The path of the channel's base URL. */
  readonly basePath: string;
  readonly client: Pick<ChannelClient, 'dispatch'>;
  readonly observer: FetchObserver;
  readonly signal: AbortSignal;
}

/** The largest answer: an image, or a transcript with all its words. */
const MAX_REPLY_BYTES = 128 * 1024 * 1024;

/**
 * The `fetch` of a library: over the channel's connections, with the account's key and at the channel's address. Where a
 * reply leads elsewhere, only public addresses are connected to, and only hosts of the same provider get the key. Credentials
 * of a source that may have expired are renewed once, as for other requests.
 */
export function libraryFetch(options: FetchOptions): typeof globalThis.fetch {
  const { library, channel, account, client, observer, signal, credentials, onUnauthorized } = options;
  return async (input, init) => {
    const { signal: _, ...rest } = init ?? {};
    const request = new Request(input, rest);
    const { url, isOwn, isTrusted } = destinationOf(new URL(request.url), options);
    const headers = headersFor(request.headers, isTrusted ? account : null);
    const body = request.body === null ? null : Buffer.from(await request.arrayBuffer());
    const makes = request.method === 'POST';
    const sent: Dispatcher.DispatchOptions = {
      origin: url.origin,
      path: url.pathname + url.search,
      method: request.method === 'POST' ? 'POST' : 'GET',
      headers,
      body,
    };
    const others = isOwn ? null : openAgent({ ...channel, isAllowed: isPublicAddress });
    const source = isTrusted ? credentials : null;
    const authorized = async (): Promise<Authorization | null> => {
      if (source === null) return null;
      const { method, path } = sent;
      try {
        return await source.authorize({ method, origin: url.origin, path, headers, body });
      } catch (error) {
        onUnauthorized(error);
        throw error;
      }
    };
    const dispatch = (authorization: Authorization | null) =>
      new Promise<CollectedReply>((resolve, reject) => {
        const handler = new ReplyCollector({ resolve, reject, makes, observer, signal });
        const whole = authorization ? { ...sent, headers: [...headers, ...authorization.headers] } : sent;
        if (others === null) client.dispatch(whole, handler);
        else others.dispatch(whole, handler);
      });
    try {
      const authorization = await authorized();
      let reply = await dispatch(authorization);
      if (authorization !== null && source?.mayHaveExpired(reply.status)) {
        const refusal = {
          status: reply.status,
          headers: Object.fromEntries(reply.headers),
          body: reply.body.toString(),
        };
        if (await source.renew(refusal, authorization)) reply = await dispatch(await authorized());
      }
      const isAccepted = reply.status >= 200 && reply.status < 300;
      if (makes && isAccepted) observer.onPostAccepted();
      const refusal = isAccepted ? refusalIn(reply, library) : null;
      if (refusal !== null) throw refusal;
      return new Response(NO_BODY.has(reply.status) ? null : new Uint8Array(reply.body), reply);
    } finally {
      await others?.destroy();
    }
  };
}

const NO_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

interface Destination {
  readonly url: URL;
  /** At the channel's own address. */
  readonly isOwn: boolean;
  /** Gets the key. */
  readonly isTrusted: boolean;
}

function destinationOf(
  url: URL,
  { library, channel, basePath }: Pick<FetchOptions, 'library' | 'channel' | 'basePath'>,
): Destination {
  const [first] = library.bases;
  const isMoved = channel.origin + basePath !== first;
  const base = library.bases.find((one) => url.href === one || url.href.startsWith(`${one}/`));
  if (base !== undefined && (isMoved || base === first)) {
    const moved = new URL(channel.origin + basePath + url.href.slice(base.length));
    return { url: moved, isOwn: true, isTrusted: true };
  }
  if (url.origin === channel.origin) return { url, isOwn: true, isTrusted: true };
  const isSibling = url.protocol === 'https:' && (library.siblingHosts?.test(url.hostname) ?? false);
  return { url, isOwn: false, isTrusted: base !== undefined || isSibling };
}

/** The library's own headers, without the placeholder of the key and the headers that give the length of the body. */
const NOT_FORWARDED: ReadonlySet<string> = new Set([
  'authorization',
  'xi-api-key',
  'x-key',
  'x-goog-api-key',
  'content-length',
]);

function headersFor(headers: Headers, account: Account | null): string[] {
  const list: string[] = [];
  const own = account?.secrets.headers ?? [];
  for (const [name, value] of headers)
    if (!NOT_FORWARDED.has(name) && !account?.secrets.names.has(name)) list.push(name, value);
  for (const [name, value] of own) list.push(name, value);
  return list;
}

function refusalIn({ headers, body }: CollectedReply, { refusedTask }: Library): TaskRefused | null {
  if (refusedTask === undefined || !headers.get('content-type')?.includes('json')) return null;
  const value = jsonIn(body.toString());
  if (typeof value !== 'object' || value === null || !('status' in value)) return null;
  if (typeof value.status !== 'string' || !refusedTask.status.test(value.status)) return null;
  const reason = Object.entries(value).find(([name]) => name === refusedTask.reason)?.[1];
  const message = typeof reason === 'string' && reason !== '' ? reason : value.status;
  return new TaskRefused(message, refusedTask.code);
}

interface CollectedReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

interface CollectorOptions {
  readonly resolve: (reply: CollectedReply) => void;
  readonly reject: (error: unknown) => void;
  readonly makes: boolean;
  readonly observer: FetchObserver;
  readonly signal: AbortSignal;
}

/** One request of a library, until its reply is here. */
class ReplyCollector implements Dispatcher.DispatchHandler {
  readonly #options: CollectorOptions;
  readonly #chunks: Buffer[] = [];
  #sizeBytes = 0;
  #status = 0;
  #headers = new Headers();
  #controller: Dispatcher.DispatchController | null = null;

  constructor(options: CollectorOptions) {
    this.#options = options;
    options.signal.addEventListener('abort', this.#abort);
  }

  readonly #abort = (): void => {
    this.#controller?.abort(new Error('no longer wanted'));
  };

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    const { signal, observer } = this.#options;
    observer.onRequestStart();
    if (signal.aborted) this.#abort();
  }

  onBodySent(): void {
    this.#options.observer.onProgress();
  }

  onRequestSent(): void {
    if (this.#options.makes) this.#options.observer.onPostSent();
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = new Headers();
    for (const [name, value] of Object.entries(headers))
      for (const one of Array.isArray(value) ? value : [value ?? '']) this.#headers.append(name, one);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#options.observer.onProgress();
    this.#sizeBytes += chunk.length;
    if (this.#sizeBytes > MAX_REPLY_BYTES)
      controller.abort(new Error(`an answer of more than ${MAX_REPLY_BYTES} bytes`));
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#over();
    const body = Buffer.concat(this.#chunks);
    this.#options.resolve({ status: this.#status, headers: this.#headers, body });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#over();
    this.#options.reject(error);
  }

  #over(): void {
    this.#options.signal.removeEventListener('abort', this.#abort);
  }
}
