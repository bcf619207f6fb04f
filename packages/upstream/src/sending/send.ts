import { type Dialect, GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '../candidate.ts';
import { RequestSlots, type SlotWait } from '../choosing/request-slots.ts';
import type { RouteLoads } from '../choosing/route-loads.ts';
import type { SlotPools } from '../choosing/slot-pools.ts';
import { failureError } from '../failures/failure.ts';
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
import type { ChannelClients } from './channel-clients.ts';
import type { Work } from './exchange-options.ts';
import { type EarlierAttempts, SendProgress } from './send-progress.ts';

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
  /** Attempts that were made for the same request before. They count towards its bounds. */
  readonly earlier?: EarlierAttempts | undefined;
  /** Called for every attempt as soon as it has its first output or has failed. */
  readonly onAttempt?: (attempt: Attempt) => void;
}

/** What all requests of a service share. */
export interface SendServices {
  readonly clients: ChannelClients;
  readonly health: ChannelHealth;
  readonly pools: SlotPools;
  readonly loads: RouteLoads;
  readonly onWait?: ((wait: SlotWait) => void) | undefined;
  readonly hedger: Hedger;
  /** Called for every attempt of every request, before the request's own. */
  readonly onAttempt?: ((attempt: Attempt) => void) | undefined;
  /** Called for every request for which a second candidate was called beside a late one. */
  readonly onHedge?: ((result: HedgeResult) => void) | undefined;
}

/** A provider that speaks the protocol takes all of it. */
const FITS: Fit = { refusal: null, dropped: [] };

const left = (): GatewayError => new GatewayError('client_closed_request', failureRule('left').message);

const busyAttempt = ({ channel, account }: Candidate, waitedMs: number): Attempt => ({
  channel: channel.name,
  account: account.name,
  outcome: 'busy',
  isHedge: false,
  status: null,
  durationMs: 0,
  waitedMs,
  detail: null,
});

/**
 * Tries the candidates one after the other until one of them begins to answer; where hedging is allowed, two side by side.
 * If none does, or another must not be tried, throws the `GatewayError` that helps the caller most.
 */
export const send = async (services: SendServices, options: SendOptions): Promise<Reply> => {
  const { candidates, streamed, signal, mayHedge = false } = options;
  const { hedger, health, onHedge } = services;
  const progress = new SendProgress(options, health.turns(candidates));
  const [first] = candidates;
  const rule = (mayHedge && candidates.length > 1 && first?.route.hedge) || null;
  if (rule !== null && first !== undefined) hedger.count(first);
  const reply = await (rule === null
    ? sendInTurn(services, options, progress, null)
    : sendHedged({
        rule,
        hedger,
        streamed,
        hasNext: () => progress.hasNext,
        onLate: (candidate) => progress.foundLate(candidate),
        sendInTurn: (leg) => sendInTurn(services, options, progress, leg),
        onHedge,
      }));
  if (reply !== null) return reply;
  if (signal?.aborted) throw left();
  throw progress.error();
};

/** Null: no candidate that was left has answered, or the other leg did. */
const sendInTurn = async (
  services: SendServices,
  options: SendOptions,
  progress: SendProgress,
  leg: Leg | null,
): Promise<Reply | null> => {
  const { clients, health, loads } = services;
  const { signal, dialect, work, streamed, checkOutput = checkFirstOutput } = options;
  const record = (one: Attempt): void => {
    progress.attempts.push(one);
    services.onAttempt?.(one);
    options.onAttempt?.(one);
  };
  let waitedMs = 0;
  const waitFor = async <Value>(found: Promise<Value>): Promise<Value> => {
    const since = performance.now();
    const value = await found;
    waitedMs += performance.now() - since;
    return value;
  };

  const slots = new RequestSlots({ ...services, signal: endOfWaiting(signal, leg) });
  const taker = { slots, isHedge: leg?.isHedge ?? false };
  /** The candidate whose turn it is, until it is sent the request. */
  let unsent: Candidate | null = null;
  try {
    for (;;) {
      waitedMs = 0;
      const found = progress.next(taker);
      const candidate = found instanceof Promise ? await waitFor(found) : found;
      if (candidate === null) return null;
      if (unsent !== null) progress.skip(unsent);
      unsent = candidate;
      if (leg?.overtaken.aborted) return null;
      const { channel, account } = candidate;
      const client = clients.of(channel);
      const taken = slots.take(candidate);
      if (!(taken instanceof Promise ? await waitFor(taken) : taken)) {
        record(busyAttempt(candidate, waitedMs));
        continue;
      }
      const made = options.request(candidate);
      const request = made instanceof Promise ? await made : made;
      if (request instanceof GatewayError) {
        progress.refused(request);
        continue;
      }
      if (signal?.aborted) throw left();
      if (leg?.overtaken.aborted) return null;
      const fit =
        channel.library === null
          ? FITS
          : fitOf(libraryOf(channel.library), mediaRequestOf(request), candidate.model);
      if (fit.refusal !== null) {
        progress.refused(fit.refusal);
        continue;
      }

      unsent = null;
      leg?.onBegin(candidate);
      const exchange = attempt({
        candidate,
        client,
        slot: slots.handOver(),
        request,
        dialect,
        work,
        streamed,
        checkOutput,
        holdsStart: options.holdsStart ?? false,
        ...progress.begin(),
        signal,
        overtaken: leg?.overtaken,
        health,
      });
      const failure = await exchange.answered;
      const durationMs = performance.now() - exchange.startedAt;
      // The other leg's attempt is recorded before the one that answers.
      const isOvertaken = failure === null && leg !== null && !(await leg.claim());
      if (isOvertaken) exchange.overtake();
      const outcome = isOvertaken ? 'overtaken' : (failure?.kind ?? 'ok');
      record({
        channel: channel.name,
        account: account.name,
        outcome,
        isHedge: leg?.isHedge ?? false,
        status: exchange.status || null,
        durationMs,
        waitedMs,
        detail: failure?.detail ?? null,
      });
      if (outcome === 'ok' || outcome === 'overtaken') leg?.onEnd(candidate, durationMs);
      if (outcome === 'overtaken') return null;
      if (failure === null && streamed)
        loads.addFirstOutput(candidate, exchange.firstOutputAt - exchange.startedAt);
      if (failure === null)
        return new UpstreamReply(exchange, { candidate, attempts: progress.attempts, dropped: fit.dropped });
      if (exchange.draining) throw left();
      if (!failureRule(failure.kind).elsewhere) throw failureError(failure);
      progress.failed(failure);
    }
  } finally {
    if (unsent !== null) progress.skip(unsent);
    slots.giveBack();
  }
};

/** Aborts the wait for a slot when the caller has left or the other leg has answered. */
const endOfWaiting = (signal: AbortSignal | undefined, leg: Leg | null): AbortSignal | undefined => {
  if (leg === null) return signal;
  return signal === undefined ? leg.overtaken : AbortSignal.any([signal, leg.overtaken]);
};
