import type { EventFrame } from '@gateway/contracts/event-stream/event-frame';
import { createFrameReader, type Frame } from '@gateway/contracts/event-stream/frame-reader';
import { namedFrame } from '@gateway/contracts/event-stream/sse-frames';
import type { Reply } from '@gateway/upstream/replies/reply';
import { amendedEnd, readLargeEnd } from '../call/attempts/large-reply.ts';
import type { TextCall } from '../call/request/text-call.ts';
import { continuation, storeResponse } from '../call/storing/store-response.ts';
import type { StreamReader } from '../wire/stream/stream-reader.ts';
import type { GivenIds } from './given-ids.ts';
import { keptOf } from './passed-reply.ts';

/** A large event that ends a response, as the thread has read it. */
export interface ShownEnd {
  /** Without the answer, for who reads the stream. */
  readonly head: Frame;
  /** Stores the response, and gives what the caller gets. Not called where the reader takes it for a failure. */
  readonly show: () => Promise<EventFrame>;
  /** Characters of the answer. */
  readonly outputLength: number;
}

interface StreamSoFar {
  readonly reader: Pick<StreamReader, 'itemCount'>;
  readonly given: GivenIds | null;
}

/**
 * Has a large last event read in the thread, and its response stored from what the thread has read. Null for any other event, and
 * where the items before it have more than it shows.
 */
export async function passLargeEvent(
  call: TextCall,
  reply: Reply,
  frame: Frame,
  { reader, given }: StreamSoFar,
): Promise<ShownEnd | null> {
  const bytes = frame.dataBytes;
  if (bytes === null || given?.hasChanged) return null;
  const read = await readLargeEnd(call, reply, {
    bytes,
    itemCount: reader.itemCount?.() ?? 0,
    mayRepeatIds: given !== null,
    kept: keptOf(call, reply),
  });
  if (read === null) return null;
  const { head, event, stored, ids, outputLength } = read;
  const show = async () => {
    const own = given && (await given.response(head));
    const amendment = await storeResponse(
      call,
      reply.candidate,
      { ...head, ...own },
      { read: stored && { ...stored, ids } },
    );
    const members = { ...continuation(call), ...own, ...amendment };
    const isSame = !read.isChanged && Object.keys(members).length === 0;
    return isSame ? frame : (frameOf(await amendedEnd(call, read.bytes, members)) ?? frame);
  };
  return {
    head: frameOf(Buffer.from(namedFrame({ ...event, type: String(event.type), response: head }))) ?? frame,
    show,
    outputLength,
  };
}

const frameOf = (bytes: Buffer): Frame | undefined =>
  createFrameReader({ maxFrameBytes: Number.POSITIVE_INFINITY }).push(bytes)[0];
