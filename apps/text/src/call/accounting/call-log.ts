import type { ToolCalls } from '@gateway/contracts/usage/usage-record';
import type { RequestContext } from '@gateway/service-kit/request/request-context';
import type { ConversationProtocol } from '@gateway/upstream/protocol';
import type { Attempt, Reply } from '@gateway/upstream/replies/reply';
import { type Dropped, droppedHeader } from '../../neutral/losses.ts';
import type { ProviderId } from '../../stored/origins/id-origins.ts';
import { callsOf } from '../../wire/tool-calls.ts';
import { addUsage, NO_USAGE } from '../../wire/usage.ts';
import type { TextCall } from '../request/text-call.ts';
import type { Consumed } from './outcome.ts';

/** Logs an attempt in the request's line. `count` includes it. */
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

/** Logs what is known at the beginning of a reply. */
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

/** Call it before the caller can know the end of the reply: the line is written at that moment. */
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
  const all = addUsage(spent, usage);
  const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = all;
  Object.assign(line, { inputTokens, cachedInputTokens, outputTokens, reasoningTokens });
  const calls = callsOf(all);
  if (calls !== null) line.toolCalls = shownCalls(calls);
  services.metrics.tokens(reply.candidate.channel.name, usage);
}

/** The same for a reply that failed before its caller got any of it: the line is for the one that answers. */
export function logDiscarded(
  { context, services }: TextCall,
  { candidate }: Pick<Reply, 'candidate'>,
  { usage, estimated }: Consumed,
): void {
  if (estimated) context.line.usageEstimated = true;
  if (usage !== null) services.metrics.tokens(candidate.channel.name, usage);
}

/** `web_search=2 file_search=1` */
const shownCalls = (calls: ToolCalls): string =>
  Object.entries(calls)
    .map(([tool, count]) => `${tool}=${count}`)
    .join(' ');

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

/** Reports the dropped parameters of a request to the caller, in the log and in the metrics. */
export function reportDropped(
  { context, services, caller, endpoint }: TextCall,
  target: ConversationProtocol,
  dropped: readonly Dropped[],
): void {
  const names = droppedHeader(dropped);
  if (names === null) return;
  caller.note('x-gateway-dropped', names);
  context.line.dropped = names;
  services.metrics.losses(endpoint.protocol, target, dropped.length);
}
