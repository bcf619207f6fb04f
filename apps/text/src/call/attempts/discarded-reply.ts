import { createFrameReader } from '@gateway/contracts/event-stream/frame-reader';
import { isEventStream } from '@gateway/contracts/event-stream/sse-frames';
import type { DiscardedReply } from '@gateway/upstream/failures/failure';
import type { ConversationProtocol } from '@gateway/upstream/protocol';
import { UPSTREAMS } from '../../protocols/protocols.ts';
import { answerLength } from '../../wire/answer-length.ts';
import { objectOfCut } from '../../wire/cut-json.ts';
import { consumedByPart, type Part } from '../accounting/broken-answer.ts';
import { type Consumed, NOTHING_KNOWN } from '../accounting/outcome.ts';
import { conversationProtocolOf } from '../candidates/target-of.ts';
import type { TextCall } from '../request/text-call.ts';
import { bodyOf } from './whole-body.ts';

/** Beyond this an answer is not read for what it says of its cost. */
const MAX_READ_BYTES = 4 * 1024 * 1024;

/**
 * What a reply has used that failed before its caller got any of it: what it reports, and what it has of an answer. Nothing where
 * it has neither: an error by itself costs nothing.
 */
export function consumedByDiscarded(call: TextCall, reply: DiscardedReply): Consumed {
  const protocol = conversationProtocolOf(reply.candidate);
  const part = isEventStream(reply.headers)
    ? partOfStream(protocol, reply.bytes)
    : partOfBody(protocol, reply.bytes);
  return part === null ? NOTHING_KNOWN : consumedByPart(call, part, undefined);
}

function partOfStream(protocol: ConversationProtocol, bytes: Buffer): Part {
  const reader = UPSTREAMS[protocol].createUsageReader();
  const frames = createFrameReader({ maxFrameBytes: MAX_READ_BYTES });
  try {
    for (const frame of frames.push(bytes)) reader.frame(frame);
    const last = frames.end();
    if (last !== null) reader.frame(last);
  } catch {
    // What came before it counts.
  }
  return reader;
}

/** Null where it is no object. */
function partOfBody(protocol: ConversationProtocol, bytes: Buffer): Part | null {
  const whole = bytes.length <= MAX_READ_BYTES ? bodyOf(bytes) : null;
  const body = whole ?? objectOfCut(bytes.subarray(0, MAX_READ_BYTES));
  return body && { usage: UPSTREAMS[protocol].readUsage(body), outputLength: answerLength(body) };
}
