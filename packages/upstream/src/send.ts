import { type Dialect, GatewayError } from '@gateway/contracts/gateway-error';
import { attempt } from './attempt.ts';
import type { Candidate } from './catalog.ts';
import type { ChannelClients } from './channel-clients.ts';
import { checkFirstOutput, type OutputCheck } from './check-first-output.ts';
import type { Channel } from './configuration/configuration.ts';
import { type Failure, failureError } from './failure.ts';
import { failureRule } from './failures.ts';
import { type Fit, fitOf } from './libraries/fit-request.ts';
import { libraryOf } from './libraries/libraries.ts';
import { mediaRequestOf } from './libraries/media-request.ts';
import type { Attempt, Reply } from './reply.ts';
import { UpstreamReply } from './upstream-reply.ts';
import type { UpstreamRequest } from './upstream-request.ts';

export interface SendOptions {
  /** Best first. */
  readonly candidates: readonly Candidate[];
  /**
   * The request for one candidate; its body names `candidate.model`. An error that this throws is thrown. A returned
   * error means that this candidate cannot take the request: the next one is tried, and the caller gets the first such
   * error only if no candidate could be tried.
   */
  readonly request: (
    candidate: Candidate,
  ) => UpstreamRequest | GatewayError | Promise<UpstreamRequest | GatewayError>;
  /** The caller's, for error bodies. */
  readonly dialect: Dialect;
  /** `paid`: retried only if the provider certainly did not begin. */
  readonly work: 'free' | 'paid';
  /** Whether the caller requested a stream. Decides the first output's time limit if the channel has none. */
  readonly streamed: boolean;
  /** Fires when the caller leaves. */
  readonly signal?: AbortSignal;
  /** Replaces `checkFirstOutput`. */
  readonly checkOutput?: OutputCheck;
  /** Called for every attempt as soon as it has its first output or has failed. */
  readonly onAttempt?: (attempt: Attempt) => void;
}

/** A provider that speaks the protocol takes all of it. */
const FITS: Fit = { refusal: null, dropped: [] };

const BUSY_RETRY_AFTER_SECONDS = 1;

const noChannel = (candidates: readonly Candidate[]): GatewayError => {
  const [first] = candidates;
  const what = first
    ? `All channels for the model '${first.requestedModel}' are`
    : 'No channel for this model is';
  return new GatewayError('no_available_channel', {
    message: `${what} ${first ? 'busy' : 'available'} at the moment. Please try again shortly.`,
    retryAfterSeconds: BUSY_RETRY_AFTER_SECONDS,
  });
};

const left = (): GatewayError => new GatewayError('client_closed_request', failureRule('left').message);

const busyAttempt = ({ name }: Channel): Attempt => ({
  channel: name,
  outcome: 'busy',
  status: null,
  durationMs: 0,
  detail: null,
});

/**
 * Tries the candidates one after the other until one of them begins to answer. If none does, or another must not be
 * tried, throws the `GatewayError` that helps the caller most.
 */
export const send = async (clients: ChannelClients, options: SendOptions): Promise<Reply> => {
  const { candidates, signal, onAttempt, dialect, work, streamed, checkOutput = checkFirstOutput } = options;
  const attempts: Attempt[] = [];
  const record = (one: Attempt): void => {
    attempts.push(one);
    onAttempt?.(one);
  };
  let worst: Failure | null = null;
  let refusal: GatewayError | null = null;

  for (const candidate of candidates) {
    const { channel } = candidate;
    const client = clients.of(channel);
    if (client.inFlight >= channel.maxConcurrent) {
      record(busyAttempt(channel));
      continue;
    }
    const made = options.request(candidate);
    const request = made instanceof Promise ? await made : made;
    if (request instanceof GatewayError) {
      refusal ??= request;
      continue;
    }
    if (signal?.aborted) throw left();
    const fit =
      channel.library === null
        ? FITS
        : fitOf(libraryOf(channel.library), mediaRequestOf(request), candidate.model);
    if (fit.refusal !== null) {
      refusal ??= fit.refusal;
      continue;
    }

    const { exchange, failure } = await attempt({
      candidate,
      client,
      request,
      dialect,
      work,
      streamed,
      checkOutput,
      signal,
    });
    record({
      channel: channel.name,
      outcome: failure?.kind ?? 'ok',
      status: exchange.status || null,
      durationMs: performance.now() - exchange.startedAt,
      detail: failure?.detail ?? null,
    });
    if (failure === null) return new UpstreamReply(exchange, { candidate, attempts, dropped: fit.dropped });
    if (exchange.draining) throw left();
    if (!failureRule(failure.kind).elsewhere) throw failureError(failure);
    if (worst === null || failureRule(failure.kind).rank > failureRule(worst.kind).rank) worst = failure;
  }
  if (worst !== null) throw failureError(worst);
  throw refusal !== null && attempts.length === 0 ? refusal : noChannel(candidates);
};
