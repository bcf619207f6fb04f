import { type Dialect, GatewayError } from '@gateway/contracts/gateway-error';
import type { AttemptTarget, RequestTrace } from '@gateway/contracts/trace/request-trace';
import { type Candidate, libraryBy } from '../candidate.ts';
import type { Accounts } from '../choosing/accounts.ts';
import type { RouteLoads } from '../choosing/route-loads.ts';
import type { SlotWait } from '../choosing/wait-for-slot.ts';
import { type DiscardedReply, failureError } from '../failures/failure.ts';
import { failureRule } from '../failures/failure-rules.ts';
import { checkFirstOutput, type OutputCheck } from '../first-output/check-first-output.ts';
import type { ChannelHealth } from '../health/channel-health.ts';
import type { Hedger } from '../hedging/hedger.ts';
import { type HedgeResult, type Leg, sendHedged } from '../hedging/send-hedged.ts';
import { type Fit, fitOf } from '../libraries/fit-request.ts';
import { libraryOf } from '../libraries/libraries.ts';
import { mediaRequestOf } from '../libraries/media-request.ts';
import type { Attempt, Reply } from '../replies/reply.ts';
import { UpstreamReply } from '../replies/upstream-reply.ts';
import type { UpstreamRequest } from '../requests/upstream-request.ts';
import { attempt } from './attempt.ts';
import type { Work } from './exchange-options.ts';
import { SendProgress, type Turn } from './send-progress.ts';

type MaybePromise<Value> = Value | Promise<Value>;

export interface SendOptions {
  /** Best first. */
  readonly candidates: readonly Candidate[];
  /**
   * The request for one candidate; its body names `candidate.model`. An error that this throws is thrown. A returned
   * error means that this candidate cannot take the request: the next one is tried, and the caller gets the first such
   * error only if no candidate could be tried.
   */
  readonly request: (candidate: Candidate) => MaybePromise<UpstreamRequest | GatewayError>;
  /**
   * Called where a candidate refused its request and no other one is tried. Null: it is asked once more, since `request` has
   * another one for it now, which is allowed where `mayRepeat`. Else the caller gets this error.
   */
  readonly refused?: (
    candidate: Candidate,
    refusal: GatewayError,
    mayRepeat: boolean,
  ) => MaybePromise<GatewayError | null>;
  /**
   * Reads a reply for the caller. Null: that was the answer. An error: the reply was none, and the caller has got nothing of
   * it, so that another candidate is tried. Absent: every reply is an answer.
   */
  readonly read?: (reply: Reply) => Promise<GatewayError | null>;
  /** The caller's, for error bodies. */
  readonly dialect: Dialect;
  readonly work: Work;
  /** Whether the caller requested a stream. Decides the first output's time limit if the channel has none. */
  readonly streamed: boolean;
  /** Fires when the caller leaves. */
  readonly signal?: AbortSignal;
  /** Replaces `checkFirstOutput`. */
  readonly checkOutput?: OutputCheck;
  /**
   * For text streams: the events before the first output wait for it, so that a stream that breaks before it
   * can be answered by another channel. Not for a response that goes on at its provider without its stream.
   */
  readonly holdsStart?: boolean;
  /** Whether a second candidate may be called beside a late one, by the model's `hedge`: the input is then billed twice. */
  readonly mayHedge?: boolean;
  /** Called for a 2xx reply that failed before its first output, with its failure: its provider may bill it all the same. */
  readonly onDiscarded?: (reply: DiscardedReply, error: GatewayError) => void;
  /** Called for every attempt as soon as it has its first output or has failed; `all` includes it, and is kept current. */
  readonly onAttempt?: (attempt: Attempt, all: readonly Attempt[]) => void;
  /** Has a span of each attempt. Undefined where no traces are exported. */
  readonly trace?: RequestTrace | undefined;
}

/** What all requests of a service share. */
export interface SendServices {
  readonly accounts: Accounts;
  readonly health: ChannelHealth;
  readonly loads: RouteLoads;
  readonly onWait?: ((wait: SlotWait) => void) | undefined;
  readonly hedger: Hedger;
  /** Called for every attempt of every request, before the request's own. */
  readonly onAttempt?: ((attempt: Attempt) => void) | undefined;
  /** Called for every request for which a second candidate was called beside a late one. */
  readonly onHedge?: ((result: HedgeResult) => void) | undefined;
}

const left = (): GatewayError => new GatewayError('client_closed_request', failureRule('left').message);

/**
 * Makes the function that tries candidates one after the other until one of them begins to answer; where hedging is
 * allowed, two side by side. If none does, or another must not be tried, it throws the `GatewayError` that helps the caller most.
 */
export const createSend = (services: SendServices) =>
  async function send(options: SendOptions): Promise<Reply> {
    const { candidates, streamed, signal, mayHedge = false } = options;
    const { accounts, health, hedger, onHedge, onWait } = services;
    const progress = new SendProgress({
      candidates,
      turns: health.turns(candidates),
      stateOf: (candidate) => accounts.of(candidate),
      onWait,
      onAttempt: (one, all) => {
        services.onAttempt?.(one);
        options.onAttempt?.(one, all);
      },
    });
    const [first] = candidates;
    const rule = (mayHedge && candidates.length > 1 && first?.route.hedge) || null;
    if (rule !== null && first !== undefined) hedger.count(first);
    const reply = await (rule === null
      ? sendInTurn(services, options, progress, null)
      : sendHedged({
          rule,
          hedger,
          streamed,
          signal,
          hasNext: () => progress.hasNext,
          onLate: (candidate) => progress.foundLate(candidate),
          sendInTurn: (leg) => sendInTurn(services, options, progress, leg),
          onHedge,
        }));
    if (reply !== null) return reply;
    throw signal?.aborted ? left() : progress.error();
  };

/** Null: no candidate that was left has answered, or the other leg did. */
async function sendInTurn(
  services: SendServices,
  options: SendOptions,
  progress: SendProgress,
  leg: Leg | null,
): Promise<Reply | null> {
  const { health, loads } = services;
  const { signal, dialect, work, streamed, checkOutput = checkFirstOutput, holdsStart = false } = options;
  const { trace } = options;
  const taker = leg ?? { isHedge: false, ended: signal };
  /** The turn that is not used until the request is sent. */
  let unsent: Turn | null = null;
  try {
    for (;;) {
      if (unsent !== null) progress.skip(unsent);
      unsent = null;
      const found = progress.next(taker);
      const turn = found instanceof Promise ? await found : found;
      if (turn === null) return null;
      unsent = turn;
      if (leg?.overtaken.aborted) return null;
      const { candidate, state } = turn;
      const made = options.request(candidate);
      const request = made instanceof Promise ? await made : made;
      if (request instanceof GatewayError) {
        progress.refused(request);
        continue;
      }
      if (signal?.aborted) throw left();
      if (leg?.overtaken.aborted) return null;
      const fit = fitFor(candidate, request);
      if (fit.refusal !== null) {
        progress.refused(fit.refusal);
        continue;
      }

      leg?.onBegin(candidate);
      const traced = trace?.attempt(targetOf(candidate));
      const exchange = attempt({
        candidate,
        traceContext: candidate.channel.passTraceparent ? traced?.context : undefined,
        client: state.connections,
        credentials: state.credentials,
        slot: state.slots,
        health,
        request,
        dialect,
        work,
        streamed,
        checkOutput,
        holdsStart,
        ...progress.begin(),
        signal,
        overtaken: leg?.overtaken,
      });
      unsent = null;
      const failure = await exchange.answered;
      const durationMs = performance.now() - exchange.startedAt;
      // The other leg's attempt is recorded before the one that answers.
      const isOvertaken = failure === null && leg !== null && !(await leg.claim());
      if (isOvertaken) exchange.overtake();
      const outcome = isOvertaken ? 'overtaken' : (failure?.kind ?? 'ok');
      const isHedge = taker.isHedge;
      const status = exchange.status || null;
      progress.record({ turn, outcome, isHedge, status, durationMs, detail: failure?.detail ?? null });
      if (traced !== undefined) trace?.endAttempt(traced, { outcome, status, isHedge });
      if (outcome === 'ok' || outcome === 'overtaken') leg?.onEnd(candidate, durationMs);
      if (outcome === 'overtaken') return null;
      if (failure?.discarded !== undefined) options.onDiscarded?.(failure.discarded, failureError(failure));
      if (failure === null) {
        if (streamed) loads.addFirstOutput(candidate, exchange.firstOutputAt - exchange.startedAt);
        const { attempts } = progress;
        const reply = new UpstreamReply(exchange, { candidate, attempts, dropped: fit.dropped });
        const unread = options.read === undefined ? null : await options.read(reply);
        if (unread === null) return reply;
        progress.unread(candidate, unread);
        if (traced !== undefined) trace?.endAttempt(traced, { outcome: 'failed', status, isHedge });
      } else if (exchange.draining) throw left();
      else if (failureRule(failure.kind).elsewhere) progress.failed(failure);
      else {
        const refusal = failureError(failure);
        const error = options.refused ? await options.refused(candidate, refusal, progress.mayGoOn) : refusal;
        if (error !== null) throw error;
        progress.repeat(candidate, refusal);
      }
    }
  } finally {
    if (unsent !== null) progress.skip(unsent);
  }
}

/** For spans. */
export const targetOf = ({ channel, account, model }: Candidate): AttemptTarget => ({
  channel: channel.name,
  account: account.name,
  provider: channel.provider,
  origin: channel.origin,
  model,
});

/** What a library cannot take; a provider that speaks the protocol takes all of it. */
function fitFor(candidate: Candidate, request: UpstreamRequest): Fit {
  const library = libraryBy(candidate);
  return library === null ? FITS : fitOf(libraryOf(library), mediaRequestOf(request), candidate.model);
}

const FITS: Fit = { refusal: null, dropped: [] };
