import type { ErrorCode } from '@gateway/contracts/error-codes';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { showAttempts } from '@gateway/model-service/show-attempts';
import { createWaitingCaller } from '@gateway/model-service/stream/waiting-caller';
import type { Candidate } from '@gateway/upstream/candidate';
import type { Route } from '@gateway/upstream/configuration/configuration';
import { type Attempt, UnreadableReply } from '@gateway/upstream/replies/reply';
import { keepAliveFrame, PROTOCOLS } from '../../protocols/protocols.ts';
import { isBilled } from '../accounting/broken-answer.ts';
import { logAttempt, logDiscarded, logReply } from '../accounting/call-log.ts';
import {
  type CallOutcome,
  failedWith,
  type ReplyOutcome,
  type UnreadAttempts,
} from '../accounting/outcome.ts';
import type { TextCall } from '../request/text-call.ts';
import { consumedByDiscarded } from './discarded-reply.ts';
import { enveloped } from './envelope.ts';
import type { PrepareAttempt, PreparedAttempt } from './prepared-attempt.ts';
import { eventStreamHead } from './reply-head.ts';
import { sendError } from './send.ts';
import { checkWholeReply } from './whole-body.ts';

interface AttemptOptions {
  /** Best first. */
  readonly candidates: readonly Candidate[];
  readonly prepare: PrepareAttempt;
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

/**
 * Has a call answered by one of its candidates, and its reply brought to the caller, but for its end. Never rejects. What
 * fails before anything was sent is in the outcome; a caller who had to be kept waiting gets the error in its stream.
 */
export async function attemptCandidates(
  call: TextCall,
  { candidates, prepare, holdsStart, mayHedge = false }: AttemptOptions,
): Promise<CallOutcome> {
  const { context, services, endpoint, request, caller } = call;
  const waiting = createWaitingCaller({
    caller,
    context,
    keepAliveMs: request.streamed ? services.keepAliveMs : 0,
    frame: keepAliveFrame(endpoint.protocol),
    head: () => eventStreamHead(context),
    errorFrames: (error) =>
      PROTOCOLS[endpoint.protocol]
        .createStreamReader({ hidesUsage: false })
        .breakOff(error, context.requestId),
    mayInterrupt: () => context.line.firstByteMs === undefined,
  });
  /** What each candidate was sent last. */
  const prepared = new Map<Candidate, PreparedAttempt>();
  let attempts: readonly Attempt[] = [];
  const read: ReadReply[] = [];
  /** The routes of those among them that the caller left. */
  const readWhenLeft: Route[] = [];
  /** Whether the last of them is of the last attempt. */
  let isLastRead = false;

  const note = (candidate: Candidate, made: PreparedAttempt | GatewayError) => {
    if (made instanceof GatewayError) return made;
    prepared.set(candidate, made);
    isLastRead = false;
    return enveloped(made.request, candidate);
  };
  const take = (outcome: ReplyOutcome, candidate: Candidate) => {
    isLastRead = true;
    read.push({ outcome, candidate });
  };
  const end = (outcome: ReplyOutcome, candidate: Candidate | null): CallOutcome => {
    waiting.end();
    const { thrown } = outcome;
    const last = thrown === undefined ? outcome.end : () => void waiting.fail(thrown);
    const discarded = read.map((one) => ({ ...one.outcome, candidate: one.candidate }));
    const unread = unreadAttempts(attempts, { readWhenLeft, isRead: candidate !== null });
    return { ...outcome, end: last, candidate, discarded, attempts, unread };
  };

  waiting.begin();
  try {
    await services.upstream.send({
      candidates,
      request: (candidate) => {
        const made = prepared.get(candidate) ?? prepare(candidate);
        return made instanceof Promise ? made.then((one) => note(candidate, one)) : note(candidate, made);
      },
      refused: async (candidate, refusal, mayRepeat) => {
        const refusedOne = prepared.get(candidate);
        const another = mayRepeat ? ((await refusedOne?.retry?.(refusal)) ?? null) : null;
        if (another instanceof GatewayError) return another;
        if (another === null) return refusedOne?.explain?.(refusal) ?? refusal;
        prepared.set(candidate, another);
        return null;
      },
      read: async (reply) => {
        logReply(context, reply);
        showAttempts(attempts, context, caller);
        const answering = prepared.get(reply.candidate);
        if (answering === undefined) throw new Error('a reply to a request that was not prepared');
        const outcome = await answering.receive(call.hooks ? await call.hooks.reply(reply) : reply);
        if (outcome.thrown instanceof UnreadableReply) reply.unreadable(outcome.thrown.message);
        take(outcome, reply.candidate);
        return unreadable(call, outcome);
      },
      dialect: endpoint.dialect,
      work: 'free',
      streamed: request.streamed,
      signal: context.signal,
      trace: context.trace,
      checkOutput: checkWholeReply,
      holdsStart,
      mayHedge,
      onDiscarded: (reply, error) => {
        const consumed = consumedByDiscarded(call, reply);
        if (consumed.usage === null) return;
        logDiscarded(call, reply, consumed);
        if (error.code === 'client_closed_request') readWhenLeft.push(reply.candidate.route);
        take({ ...failedWith(error), ...consumed }, reply.candidate);
      },
      onAttempt: (attempt, all) => {
        attempts = all;
        logAttempt(context, attempt, all.length);
      },
    });
  } catch (caught) {
    showAttempts(attempts, context, caller);
    const thrown = sendError(context, caught);
    // Of an attempt that may be billed and has shown nothing, its input is charged beside what the earlier ones have used.
    const own = isLastRead || !isBilled(thrown) ? read.pop() : undefined;
    const { outcome, candidate } = own ?? { outcome: failedWith(undefined), candidate: null };
    return end({ ...outcome, thrown }, candidate);
  }
  const answer = read.pop();
  if (answer === undefined) throw new Error('a reply that was not read');
  return end(answer.outcome, answer.candidate);
}

/** A reply that was read, for the caller or for what it has used. */
interface ReadReply {
  readonly outcome: ReplyOutcome;
  readonly candidate: Candidate;
}

/**
 * The attempts whose input may be billed though nothing was read of them.
 *
 * @param ended `readWhenLeft`: the routes of what was read of attempts that the caller left; `isRead`: the request's own is a reply
 * that was read
 */
export function unreadAttempts(
  attempts: readonly Pick<Attempt, 'outcome' | 'route'>[],
  { readWhenLeft, isRead }: { readonly readWhenLeft: readonly Route[]; readonly isRead: boolean },
): UnreadAttempts {
  const routesOf = (wanted: Attempt['outcome']): Route[] =>
    attempts.flatMap(({ outcome, route }) => (outcome === wanted ? [route] : []));
  const overtaken = routesOf('overtaken');
  const left = routesOf('left');
  for (const route of readWhenLeft) {
    const at = left.indexOf(route);
    if (at >= 0) left.splice(at, 1);
  }
  if (isRead) return { own: null, others: [...overtaken, ...left] };
  // Of two that were running when the caller left, one is the request's own.
  const [own = attempts.findLast(({ outcome }) => outcome !== 'busy')?.route ?? null, ...others] = left;
  return { own, others: [...overtaken, ...others] };
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
