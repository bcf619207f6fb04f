import type { RequestContext } from '@gateway/service-kit/request-context';
import type { Attempt, Reply } from '@gateway/upstream/reply';
import { type Dropped, droppedHeader } from '../conversation/losses.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import type { Consumed } from './outcome.ts';
import type { TextCall } from './text-call.ts';

/** Logs an attempt at a channel on the request's line; `count` with it. */
export function logAttempt(
  { line }: Pick<RequestContext, 'line'>,
  { channel, outcome, status, detail }: Attempt,
  count: number,
): void {
  line.attempts = count;
  line.channel = channel;
  line.upstreamStatus = status;
  if (outcome !== 'ok') line.upstreamFailure = detail ?? outcome;
}

/** What is known of a reply as soon as it has begun. */
export function logReply({ line }: Pick<RequestContext, 'line'>, { candidate, headers }: Reply): void {
  if (candidate.model !== candidate.requestedModel) line.upstreamModel = candidate.model;
  const id = headers['x-request-id'] ?? headers['request-id'];
  if (typeof id === 'string') line.upstreamRequestId = id;
}

/** Returns the milliseconds from the request to its reply's first byte, which is now. */
export function logFirstByte({ context, services, startedAt }: TextCall, reply: Reply): number {
  const durationMs = performance.now() - startedAt;
  const firstByteMs = Math.round(durationMs * 100) / 100;
  context.line.firstByteMs = firstByteMs;
  services.metrics.firstByte(reply.candidate.channel.name, durationMs);
  return firstByteMs;
}

/** To be called before the caller can know that the reply has ended: the line is written then. */
export function logConsumed(
  { context, services }: TextCall,
  reply: Reply,
  { usage, estimated, pendingId }: Consumed,
): void {
  const { line } = context;
  line.usagePending = pendingId === null ? undefined : true;
  if (estimated) line.usageEstimated = true;
  if (usage === null) return;
  line.inputTokens = usage.inputTokens;
  line.cachedInputTokens = usage.cachedInputTokens;
  line.outputTokens = usage.outputTokens;
  line.reasoningTokens = usage.reasoningTokens;
  services.metrics.tokens(reply.candidate.channel.name, usage);
}

/** Reports what a request had to leave out for its upstream: to the caller, in the log and in the metrics. */
export function reportDropped(
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
