import type { RequestContext } from '@gateway/service-kit/request-context';
import type { Attempt, Reply } from '@gateway/upstream/reply';
import { type Dropped, droppedHeader } from '../conversation/losses.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import type { Usage } from '../wire/usage.ts';
import type { TextCall } from './text-call.ts';

/** Fills the request's log line with what its attempts at channels came to. */
export function attemptNotes({ line }: Pick<RequestContext, 'line'>): (attempt: Attempt) => void {
  let count = 0;
  return ({ channel, outcome, status, detail }) => {
    count += 1;
    line.attempts = count;
    line.channel = channel;
    line.upstreamStatus = status;
    if (outcome !== 'ok') line.upstreamFailure = detail ?? outcome;
  };
}

/** What is known of a reply as soon as it has begun. */
export function noteReply({ line }: Pick<RequestContext, 'line'>, { candidate, headers }: Reply): void {
  if (candidate.model !== candidate.requestedModel) line.upstreamModel = candidate.model;
  const id = headers['x-request-id'] ?? headers['request-id'];
  if (typeof id === 'string') line.upstreamRequestId = id;
}

export function noteFirstByte({ context, services, startedAt, tally }: TextCall, reply: Reply): void {
  const durationMs = performance.now() - startedAt;
  tally.firstByteMs = Math.round(durationMs * 100) / 100;
  context.line.firstByteMs = tally.firstByteMs;
  services.metrics.firstByte(reply.candidate.channel.name, durationMs);
}

export function noteUsage({ context, services, tally }: TextCall, reply: Reply, usage: Usage): void {
  tally.usage = usage;
  const { line } = context;
  line.inputTokens = usage.inputTokens;
  line.cachedInputTokens = usage.cachedInputTokens;
  line.outputTokens = usage.outputTokens;
  line.reasoningTokens = usage.reasoningTokens;
  services.metrics.tokens(reply.candidate.channel.name, usage);
}

/** The same where the upstream did not say it, or not to the end. */
export function noteEstimatedUsage(call: TextCall, reply: Reply, usage: Usage): void {
  call.tally.estimated = true;
  call.context.line.usageEstimated = true;
  noteUsage(call, reply, usage);
}

/** What a request had to leave out for its upstream: told to the caller, the log and the metrics. */
export function noteLosses(
  { context, services, response, endpoint }: TextCall,
  target: TextProtocol,
  dropped: readonly Dropped[],
): void {
  const names = droppedHeader(dropped);
  if (names === null) return;
  response.setHeader('x-gateway-dropped', names);
  context.line.dropped = names;
  services.metrics.losses(endpoint.protocol, target, dropped.length);
}
