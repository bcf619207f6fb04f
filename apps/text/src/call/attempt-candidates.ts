import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/catalog';
import type { OutputCheck } from '@gateway/upstream/check-first-output';
import type { Attempt, Reply } from '@gateway/upstream/reply';
import { type CallOutcome, failedWith } from './outcome.ts';
import type { PrepareAttempt, PreparedAttempt } from './prepared-attempt.ts';
import { send } from './send.ts';
import type { TextCall } from './text-call.ts';

interface Candidates {
  /** Best first. */
  readonly candidates: readonly Candidate[];
  readonly prepare: PrepareAttempt;
  /** Replaces the check of a reply's first output. */
  readonly checkOutput?: OutputCheck;
}

/** Attempts one candidate after the other until one answers, and writes its reply to the caller. Never rejects. */
export async function attemptCandidates(call: TextCall, options: Candidates): Promise<CallOutcome> {
  const { context, services, endpoint, request } = call;
  const { candidates, prepare, checkOutput } = options;
  const sent: { readonly candidate: Candidate; readonly attempt: PreparedAttempt }[] = [];
  const attempts: Attempt[] = [];
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
      ...(checkOutput && { checkOutput }),
      onAttempt: (attempt) => attempts.push(attempt),
    });
  } catch (error) {
    // A refusal is the last candidate's: after it no other is tried.
    const last = sent.at(-1);
    const retry = (await last?.attempt.retry?.(error)) ?? null;
    if (last !== undefined && retry !== null)
      return attemptCandidates(call, { ...options, candidates: [last.candidate], prepare: () => retry });
    const explain = error instanceof GatewayError ? last?.attempt.explain?.(error) : undefined;
    return { ...failedWith(explain ?? error), channel: null, attempts: attempts.length };
  }
  const answering = sent.at(-1);
  if (answering === undefined) throw new Error('a reply to a request that was not prepared');
  const outcome = await answering.attempt.receive(reply);
  return { ...outcome, channel: reply.candidate.channel.name, attempts: attempts.length };
}
