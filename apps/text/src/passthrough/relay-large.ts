import { createFrameReader } from '@gateway/contracts/event-stream/frame-reader';
import type { EndAnswer } from '@gateway/model-service/stream/relay-stream';
import type { Reply } from '@gateway/upstream/replies/reply';
import { isPending } from '../background/ending.ts';
import { consumedByPart } from '../call/accounting/broken-answer.ts';
import { estimatesFor } from '../call/accounting/metered-call.ts';
import { type Consumed, consumedOf, NOTHING_KNOWN } from '../call/accounting/outcome.ts';
import { amendedLarge, type LargeReply, readLarge } from '../call/attempts/large-reply.ts';
import { streamHead } from '../call/attempts/reply-head.ts';
import { turnIn } from '../call/request/history.ts';
import type { TextCall } from '../call/request/text-call.ts';
import { type Amendment, storeResponse, UNSTORED_HEADER } from '../call/storing/store-response.ts';
import { isLarge } from '../large/shared-bytes.ts';
import { knownUsage } from '../metering/consumption.ts';
import { replyHeaders } from './headers.ts';
import { idHolder, isGenerated, keptOf, remember, storePendingReply } from './passed-reply.ts';
import { failureReported } from './passed-stream.ts';
import { notFinished } from './relay-json.ts';

interface RelayLargeOptions {
  readonly bytes: Buffer;
  /** The body that its upstream was sent. */
  readonly sent: Buffer | string;
  /** It was put together of a stream. */
  readonly isCollected: boolean;
  /** For a caller who streams. */
  readonly hidesUsage: boolean;
  readonly onConsumed: (consumed: Consumed) => void;
}

const CALLS = ['"call_id"', '"tool_use"', '"tool_calls"'];

/** Whether a reply is read in the thread: it is large, or has calls whose ids a large request may have. */
export const isForThread = (bytes: Buffer, sent: Buffer | string): boolean =>
  isLarge(bytes.length) || (isLarge(sent.length) && CALLS.some((sign) => bytes.includes(sign)));

/**
 * The same as `relayJson` for a large reply: the thread reads and writes it. Resolves to what sends it.
 *
 * @throws {GatewayError} where it is no answer; nothing has been sent then
 */
export async function relayLarge(
  call: TextCall,
  reply: Reply,
  { bytes, sent, isCollected, hidesUsage, onConsumed }: RelayLargeOptions,
): Promise<EndAnswer> {
  const { endpoint, request, caller, context } = call;
  const heldBy = idHolder(call, reply);
  const read = await readLarge(call, reply, {
    bytes,
    order: {
      kind: 'passed',
      operation: endpoint.operation,
      sent: typeof sent === 'string' ? Buffer.from(sent) : sent,
      quirks: { toolCallIds: reply.candidate.route.quirks.toolCallIds },
      kept: keptOf(call, reply),
      ...(heldBy !== undefined && { heldBy }),
      known: null,
    },
  });
  if (read.kind === 'paused') throw new Error('a reply that passes does not pause');
  if (read.kind === 'refused') {
    onConsumed(consumedByPart(call, read.part, read.error));
    throw read.error;
  }
  onConsumed(consumedByLarge(call, read));
  const members = await storeLarge(call, reply, read, onConsumed);
  const unstored = members?.store === false ? UNSTORED_HEADER : {};
  const asStream = request.streamed ? { protocol: endpoint.protocol, hidesUsage } : null;
  const events = asStream && (await amendedLarge(call, read.bytes, { members, asStream }));
  const head = replyHeaders(reply, context);
  if (events !== null) {
    const frames = createFrameReader({ maxFrameBytes: Number.POSITIVE_INFINITY }).push(events);
    return () => {
      caller.begin(reply.status, { ...streamHead(head), ...unstored });
      caller.end(frames);
    };
  }
  if (caller.hasBegun) throw notFinished();
  const written = (await amendedLarge(call, read.bytes, { members, asStream: null })) ?? read.bytes;
  return () => {
    caller.begin(reply.status, {
      ...head,
      ...(isCollected && { 'content-type': 'application/json' }),
      ...unstored,
      'content-length': written.length,
    });
    caller.end(written);
  };
}

function consumedByLarge(call: TextCall, { usage, head, outputLength }: LargeReply): Consumed {
  if (!isGenerated(call.endpoint) || (usage === null && isUnderWay(call, head))) return NOTHING_KNOWN;
  return consumedOf(
    knownUsage(
      usage,
      true,
      estimatesFor(call, () => outputLength),
    ),
  );
}

const isUnderWay = ({ endpoint }: TextCall, head: LargeReply['head']): boolean =>
  endpoint.protocol === 'responses' && isPending(head);

/** Stores what its caller may name later. Returns the members that its caller gets instead. */
async function storeLarge(
  call: TextCall,
  reply: Reply,
  { head, stored, ids, message }: LargeReply,
  onPending: (consumed: Consumed) => void,
): Promise<Amendment> {
  const { endpoint, context, request } = call;
  const { candidate } = reply;
  if (head.status === 'failed') context.failure ??= failureReported('failed');
  let amendment: Amendment = null;
  if (endpoint.operation === 'responses')
    amendment = await storeResponse(call, candidate, head, { read: stored && { ...stored, ids } });
  else
    await Promise.all([
      remember(call, reply, ids),
      turnIn(call.history)?.store(message, { request, candidate }),
    ]);
  if (isUnderWay(call, head)) await storePendingReply(call, reply, head, onPending);
  return amendment;
}
