import type { RequestContext } from '@gateway/service-kit/request/request-context';
import type { Attempt, Reply } from '@gateway/upstream/replies/reply';
import { type Dropped, droppedHeader } from '../conversation/losses.ts';
import type { ProviderId } from '../stored/id-origins.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import { addUsage, NO_USAGE } from '../wire/usage.ts';
import type { Consumed } from './outcome.ts';
import type { TextCall } from './text-call.ts';

/** Logs an attempt at a channel on the request's line; `count` with it. */
export function logAttempt(
  { line }: Pick<RequestContext, 'line'>,
  { channel, account, outcome, status, detail }: Attempt,
  count: number,
): void {
  line.attempts = count;
  line.channel = channel;
  line.account = account;
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
  { context, services, compacted }: TextCall,
  reply: Reply,
  { usage, estimated, pendingId }: Consumed,
): void {
  const { line } = context;
  const spent = compacted?.spent.usage ?? NO_USAGE;
  line.usagePending = pendingId === null ? undefined : true;
  if (estimated) line.usageEstimated = true;
  if (usage === null) return;
  const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = addUsage(spent, usage);
  Object.assign(line, { inputTokens, cachedInputTokens, outputTokens, reasoningTokens });
  services.metrics.tokens(reply.candidate.channel.name, usage);
}

/** Logs and counts a conversation that its provider has compacted: its reply brings the compaction's id. */
export function logProvidersCompaction(
  { context, services, request }: Pick<TextCall, 'context' | 'services' | 'request'>,
  ids: readonly ProviderId[],
): void {
  if (!ids.some(({ kind }) => kind === 'compaction')) return;
  const by = request.compaction?.order?.by ?? 'threshold';
  Object.assign(context.line, { compaction: by, compactedBy: 'provider' });
  services.metrics.compacted(by, 'provider', 'ok');
}

/** Reports what a request had to leave out for its upstream: to the caller, in the log and in the metrics. */
export function reportDropped(
  { context, services, response, endpoint }: TextCall,
  target: TextProtocol,
  dropped: readonly Dropped[],
): void {
  const names = droppedHeader(dropped);
  if (names === null) return;
  if (!response.headersSent) response.setHeader('x-gateway-dropped', names);
  context.line.dropped = names;
  services.metrics.losses(endpoint.protocol, target, dropped.length);
}
