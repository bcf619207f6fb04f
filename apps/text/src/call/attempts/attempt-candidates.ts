import type { ErrorCode } from '@gateway/contracts/error-codes';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { showAttempts } from '@gateway/model-service/show-attempts';
import { createWaitingCaller } from '@gateway/model-service/stream/waiting-caller';
import type { Candidate } from '@gateway/upstream/candidate';
import { type Attempt, type Reply, UnreadableReply } from '@gateway/upstream/replies/reply';
import type { UpstreamRequest } from '@gateway/upstream/requests/upstream-request';
import { keepAliveFrame, PROTOCOLS } from '../../conversion/protocols.ts';
import { logAttempt, logReply } from '../accounting/call-log.ts';
import { type CallOutcome, failedWith, type ReplyOutcome } from '../accounting/outcome.ts';
import type { TextCall } from '../request/text-call.ts';
import type { PrepareAttempt, PreparedAttempt } from './prepared-attempt.ts';
import { eventStreamHead } from './reply-head.ts';
import { sendError } from './send.ts';
import { checkWholeReply } from './whole-body.ts';

/** Candidates that are asked in turn, with the requests that they get. */
interface Round {
  /** Best first. */
  readonly candidates: readonly Candidate[];
  readonly prepare: PrepareAttempt;
  /** Why the candidates of the round before did not serve; absent: there was none. */
  readonly failedBefore?: unknown;
}

interface AttemptOptions extends Omit<Round, 'failedBefore'> {
  /** See `SendOptions`. */
  readonly holdsStart: boolean;
  readonly mayHedge?: boolean;
}

/** A call, and what became of it. */
export interface Answered {
  /** As it was answered: of what its conversation was compacted to, if it was. */
  readonly call: TextCall;
  readonly outcome: CallOutcome;
}

/** A request that a candidate got. */
interface Sent {
  readonly candidate: Candidate;
  readonly attempt: PreparedAttempt;
}

/**
 * Attempts one candidate after the other until one answers, and brings its reply to the caller, but for its end. Another round follows where
 * a candidate would accept another request, or where its reply turns out to be none. Never rejects. What fails before
 * anything was sent is in the outcome; a caller who had to be kept waiting gets the error in its stream.
 */
export async function attemptCandidates(call: TextCall, options: AttemptOptions): Promise<CallOutcome> {
  const { context, services, endpoint, request, response } = call;
  const { holdsStart, mayHedge = false } = options;
  const waiting = createWaitingCaller({
    response,
    context,
    keepAliveMs: request.streamed ? services.keepAliveMs : 0,
    frame: keepAliveFrame(endpoint.protocol),
    head: () => eventStreamHead(context),
    errorText: (error) =>
      PROTOCOLS[endpoint.protocol]
        .createStreamReader({ hidesUsage: false })
        .breakOff(error, context.requestId),
    mayInterrupt: () => context.line.firstByteMs === undefined,
  });
  const attempts: Attempt[] = [];
  const onAttempt = (attempt: Attempt) => {
    attempts.push(attempt);
    logAttempt(context, attempt, attempts.length);
  };
  const end = (outcome: ReplyOutcome, candidate: Candidate | null): CallOutcome => {
    waiting.end();
    const { thrown } = outcome;
    const last = thrown === undefined ? outcome.end : () => void waiting.fail(thrown);
    return { ...outcome, end: last, candidate, ...countsOf(attempts) };
  };
  const beganAt = performance.now();

  let round: Round = options;
  for (;;) {
    const attemptsBefore = attempts.length;
    const count = attempts.filter(({ outcome }) => outcome !== 'busy').length;
    const sent: Sent[] = [];
    let reply: Reply;
    waiting.begin();
    try {
      reply = await services.upstream.send({
        candidates: round.candidates,
        request: (candidate) => requestFor(candidate, round.prepare, sent),
        dialect: endpoint.dialect,
        work: 'free',
        streamed: request.streamed,
        signal: context.signal,
        checkOutput: checkWholeReply,
        holdsStart,
        mayHedge,
        onAttempt,
        earlier: count === 0 ? undefined : { count, beganAt },
      });
    } catch (caught) {
      const thrown = sendError(context, caught);
      const wasTried = attempts.length > attemptsBefore || !isNobody(thrown);
      const error = wasTried ? thrown : (round.failedBefore ?? thrown);
      const last = lastAsked(sent, attempts);
      const explained = (error instanceof GatewayError && last?.attempt.explain?.(error)) || error;
      const retry = (await last?.attempt.retry?.(error)) ?? null;
      if (last !== undefined && retry !== null) {
        round = { candidates: [last.candidate], prepare: () => retry, failedBefore: explained };
        continue;
      }
      showAttempts(attempts, context, response);
      return end(failedWith(explained), null);
    }
    logReply(context, reply);
    showAttempts(attempts, context, response);
    const answering = sent.findLast(({ candidate }) => candidate === reply.candidate);
    if (answering === undefined) throw new Error('a reply to a request that was not prepared');
    const outcome = await answering.attempt.receive(reply);
    if (outcome.thrown instanceof UnreadableReply) reply.unreadable(outcome.thrown.message);
    const unread = unreadable(call, outcome);
    if (unread === null) return end(outcome, reply.candidate);
    const others = round.candidates.filter((one) => sent.every(({ candidate }) => candidate !== one));
    if (others.length === 0) return end(outcome, reply.candidate);
    const answered = attempts.pop();
    if (answered !== undefined) attempts.push({ ...answered, outcome: 'failed', detail: unread.message });
    round = { candidates: others, prepare: round.prepare, failedBefore: unread };
  }
}

/** Prepares the request for a candidate, and notes it in `sent`. */
function requestFor(
  candidate: Candidate,
  prepare: PrepareAttempt,
  sent: Sent[],
): UpstreamRequest | GatewayError | Promise<UpstreamRequest | GatewayError> {
  const note = (attempt: PreparedAttempt | GatewayError) => {
    if (attempt instanceof GatewayError) return attempt;
    sent.push({ candidate, attempt });
    return attempt.request;
  };
  const prepared = prepare(candidate);
  return prepared instanceof Promise ? prepared.then(note) : note(prepared);
}

/** The candidate that refused a request: after a refusal no other is tried. */
function lastAsked(sent: readonly Sent[], attempts: readonly Attempt[]): Sent | undefined {
  const refusing = attempts.findLast(({ outcome }) => outcome !== 'busy' && outcome !== 'overtaken');
  return sent.findLast(({ candidate }) => isAt(candidate, refusing)) ?? sent.at(-1);
}

/** The attempts are used up. */
const isNobody = (thrown: unknown): boolean =>
  thrown instanceof GatewayError && thrown.code === 'no_available_channel';

const isAt = ({ channel, account }: Candidate, attempt: Attempt | undefined): boolean =>
  channel.name === attempt?.channel && account.name === attempt.account;

function countsOf(attempts: readonly Attempt[]): Pick<CallOutcome, 'attempts' | 'overtaken'> {
  const overtaken = attempts.filter(({ outcome }) => outcome === 'overtaken').length;
  // Of two that were running when the caller left, one counts as the request's own.
  const left = attempts.filter(({ outcome }) => outcome === 'left').length;
  return { attempts, overtaken: overtaken + Math.max(0, left - 1) };
}

/** Failures of a provider's own, after which another one may do better. */
const ELSEWHERE: ReadonlySet<ErrorCode> = new Set([
  'upstream_failed',
  'upstream_overloaded',
  'upstream_rate_limited',
  'upstream_quota_exhausted',
  'upstream_misconfigured',
  'upstream_timeout',
]);

/** The reply turned out to be none when it was read for the caller, who has got nothing of it: another channel may do better. */
function unreadable({ context }: TextCall, { thrown, firstByteMs }: ReplyOutcome): GatewayError | null {
  const isUpstreams = thrown instanceof GatewayError && ELSEWHERE.has(thrown.code) && thrown.retry;
  return isUpstreams && firstByteMs === null && !context.signal.aborted ? thrown : null;
}
