import type { Dispatcher } from 'undici';
import type { Candidate } from '../candidate.ts';
import type { CredentialSource } from '../credentials/credential-source.ts';
import { requestPath } from '../requests/operation-path.ts';
import type { UpstreamRequest } from '../requests/upstream-request.ts';
import type { ChannelClient } from '../sending/channel-client.ts';
import type { Exchange } from '../sending/exchange.ts';
import { kindOfProtocol } from '../sending/time-limits.ts';
import { kindOf } from './fit-request.ts';
import { type LibraryName, libraryOf } from './libraries.ts';
import { imageAbilities, type Library, type LibraryModels } from './library.ts';
import { causeOf, ownRefusal, refusalOf } from './library-error.ts';
import { libraryFetch, TaskRefused } from './library-fetch.ts';
import { makeImages } from './make-images.ts';
import { type LibraryAnswer, type LibraryCall, mediaRequestOf } from './media-request.ts';
import { speak } from './speak.ts';
import { transcribe } from './transcripts/transcribe.ts';

interface CallOptions {
  readonly candidate: Candidate;
  /** Null: its account has a key. */
  readonly credentials: CredentialSource | null;
  readonly client: ChannelClient;
  readonly request: UpstreamRequest;
  readonly library: LibraryName;
}

/** Its requests get the account's key or token only on their way out. */
const NO_KEY = 'set-on-the-way-out';

/**
 * Calls a provider through its own library instead of by one HTTP request: the exchange gets the same events as if the
 * provider spoke the protocol itself, so that time limits, failures and what may be repeated are the same for all.
 */
export async function callLibrary(
  { candidate, credentials, client, request, library: name }: CallOptions,
  exchange: Exchange,
): Promise<void> {
  const { channel, account } = candidate;
  const library = libraryOf(name);
  const controller = new CallController();
  const state = { isLoaded: false, hasFetched: false, hasBegun: false, isSent: false, isAccepted: false };
  const begin = () => {
    if (!state.hasBegun) exchange.onRequestStart(controller);
    state.hasBegun = true;
  };
  const fetch = libraryFetch({
    library,
    channel,
    account,
    credentials,
    onUnauthorized: (error) => exchange.unauthorized(error),
    basePath: requestPath(candidate, request, false),
    client,
    signal: controller.signal,
    observer: {
      onRequestStart: begin,
      onProgress: () => exchange.onBodySent(),
      onPostSent: () => {
        if (!state.isSent) exchange.onRequestSent();
        state.isSent = true;
      },
      onPostAccepted: () => {
        state.isAccepted = true;
      },
    },
  });
  const counted: typeof fetch = (...args) => {
    state.hasFetched = true;
    return fetch(...args);
  };
  const give = (status: number, headers: Readonly<Record<string, string>>, body: Buffer) => {
    begin();
    // The exchange may have ended meanwhile, by a time limit or because the caller left.
    if (controller.aborted) return;
    exchange.onResponseStart(controller, status, headers);
    exchange.onResponseData(controller, body);
    exchange.onResponseEnd();
  };
  try {
    const media = mediaRequestOf(request);
    const models = await library.load({ apiKey: NO_KEY, fetch: counted });
    state.isLoaded = true;
    const call = {
      ...media,
      timeoutMs: channel.timeLimits[kindOfProtocol(candidate.protocol)].totalMs,
      signal: controller.signal,
    };
    const answer = await run(models, library, { model: candidate.model, kind: kindOf(media), call });
    give(200, { 'content-type': answer.contentType }, answer.body);
  } catch (error) {
    const isTaskRefused = error instanceof TaskRefused;
    const answered = state.isAccepted && !isTaskRefused ? null : refusalOf(error, library);
    const refusal = answered ?? (state.isLoaded && !state.hasFetched ? ownRefusal(error) : null);
    if (refusal === null) exchange.onResponseError(controller, causeOf(error));
    else give(refusal.status, refusal.headers, Buffer.from(JSON.stringify({ error: refusal.error })));
  }
}

interface RunOptions {
  readonly model: string;
  readonly kind: ReturnType<typeof kindOf>;
  readonly call: LibraryCall;
}

async function run(
  models: LibraryModels,
  library: Library,
  { model, kind, call }: RunOptions,
): Promise<LibraryAnswer> {
  const images = kind === 'images' ? imageAbilities(library, model) : undefined;
  if (models.image && images) return makeImages(models.image(model), images, call);
  if (kind === 'speech' && models.speech && library.speech)
    return speak(models.speech(model), library.speech, call);
  if (kind === 'transcriptions' && models.transcription && library.transcriptions)
    return transcribe(models.transcription(model), library.transcriptions, call);
  throw new Error(`no ${kind} in this library`);
}

/** How the exchange controls the call. Answers come whole, so there is nothing to pause. */
class CallController implements Dispatcher.DispatchController {
  readonly #abort = new AbortController();
  reason: Error | null = null;
  readonly paused = false;

  get aborted(): boolean {
    return this.#abort.signal.aborted;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  abort(reason: Error): void {
    this.reason ??= reason;
    this.#abort.abort(reason);
  }

  pause(): void {}

  resume(): void {}
}
