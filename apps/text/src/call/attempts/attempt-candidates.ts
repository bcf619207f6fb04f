import { GatewayError } from '@gateway/contracts/gateway-error';
import { showAttempts } from '@gateway/model-service/show-attempts';
import type { Candidate } from '@gateway/upstream/candidate';
import { type Attempt, type Reply, UnreadableReply } from '@gateway/upstream/replies/reply';
import { type CallOutcome, failedWith, type ReplyOutcome } from '../accounting/outcome.ts';
import type { TextCall } from '../request/text-call.ts';
import type { PrepareAttempt, PreparedAttempt } from './prepared-attempt.ts';
import { send } from './send.ts';
import { createWaitingCaller } from './waiting-caller.ts';
import { checkWholeReply } from './whole-body.ts';

interface Candidates {
  /** Best first. */
  readonly candidates: readonly Candidate[];
  readonly prepare: PrepareAttempt;
  /** See `SendOptions`. */
  readonly holdsStart: boolean;
  readonly mayHedge?: boolean;
}

interface InTurn extends Candidates {
  /** Every attempt for the call so far. */
  readonly attempts: Attempt[];
  /** When the first of them began, by `performance.now()`. */
  readonly beganAt: number;
  /** Why the candidates before did not serve; absent: there were none. */
  readonly failedBefore?: unknown;
  readonly onHeld: () => void;
  readonly onReply: () => void;
}

/**
 * Attempts one candidate after the other until one answers, and writes its reply to the caller. Never rejects. What
 * fails before anything was sent is in the outcome; a caller who had to be kept waiting has the error in its stream.
 */
export async function attemptCandidates(call: TextCall, options: Candidates): Promise<CallOutcome> {
  const waiting = createWaitingCaller(call);
  const outcome = await attemptInTurn(call, {
    ...options,
    attempts: [],
    beganAt: performance.now(),
    onHeld: waiting.begin,
    onReply: waiting.end,
  });
  waiting.end();
  if (outcome.thrown !== undefined) waiting.fail(outcome.thrown);
  return outcome;
}

async function attemptInTurn(call: TextCall, options: InTurn): Promise<CallOutcome> {
  const { context, services, endpoint, request } = call;
  const { candidates, prepare, holdsStart, mayHedge = false, attempts, beganAt, onHeld, onReply } = options;
  const count = attempts.filter(({ outcome }) => outcome !== 'busy').length;
  const attemptsBefore = attempts.length;
  const sent: { readonly candidate: Candidate; readonly attempt: PreparedAttempt }[] = [];
  const requestOf = (candidate: Candidate, attempt: PreparedAttempt | GatewayError) => {
    if (attempt instanceof GatewayError) return attempt;
    sent.push({ candidate, attempt });
    return attempt.request;
  };
  let reply: Reply;
  try {
    reply = await send(context, services.upstream, {
      candidates,
      request: (candidate) => {
        const prepared = prepare(candidate);
        return prepared instanceof Promise
          ? prepared.then((attempt) => requestOf(candidate, attempt))
          : requestOf(candidate, prepared);
      },
      dialect: endpoint.dialect,
      streamed: request.streamed,
      checkOutput: checkWholeReply,
      holdsStart,
      mayHedge,
      onHeld,
      onAttempt: (attempt) => attempts.push(attempt),
      earlier: count === 0 ? undefined : { count, beganAt },
    });
  } catch (thrown) {
    const wasTried = attempts.length > attemptsBefore || !isNobody(thrown);
    const error = wasTried ? thrown : (options.failedBefore ?? thrown);
    // A refusal is the last candidate's: after it no other is tried.
    const refusing = attempts.findLast(({ outcome }) => outcome !== 'busy' && outcome !== 'overtaken');
    const last = sent.findLast(({ candidate }) => isAt(candidate, refusing)) ?? sent.at(-1);
    const explained = (error instanceof GatewayError && last?.attempt.explain?.(error)) || error;
    const retry = (await last?.attempt.retry?.(error)) ?? null;
    if (last !== undefined && retry !== null)
      return attemptInTurn(call, {
        ...options,
        candidates: [last.candidate],
        prepare: () => retry,
        failedBefore: explained,
      });
    showAttempts(attempts, context, call.response);
    return { ...failedWith(explained), candidate: null, ...countsOf(attempts) };
  }
  onReply();
  const answering = sent.findLast(({ candidate }) => candidate === reply.candidate);
  if (answering === undefined) throw new Error('a reply to a request that was not prepared');
  showAttempts(attempts, context, call.response);
  const outcome = await answering.attempt.receive(reply);
  if (outcome.thrown instanceof UnreadableReply) reply.unreadable(outcome.thrown.message);
  const others = candidates.filter((candidate) => sent.every((one) => one.candidate !== candidate));
  const unread = unreadable(call, outcome);
  if (unread === null || others.length === 0)
    return { ...outcome, candidate: reply.candidate, ...countsOf(attempts) };
  const answered = attempts.pop();
  if (answered !== undefined) attempts.push({ ...answered, outcome: 'failed', detail: unread.message });
  return attemptInTurn(call, { ...options, candidates: others, failedBefore: unread });
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

/** The reply turned out to be none when it was read for the caller, who has got nothing of it: another channel may do better. */
function unreadable({ context }: TextCall, { thrown, firstByteMs }: ReplyOutcome): GatewayError | null {
  const isUpstreams = thrown instanceof GatewayError && thrown.code === 'upstream_failed' && thrown.retry;
  return isUpstreams && firstByteMs === null && !context.signal.aborted ? thrown : null;
}
