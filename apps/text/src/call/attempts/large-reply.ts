import { GatewayError } from '@gateway/contracts/gateway-error';
import { cleanMessage } from '@gateway/upstream/failures/clean-message';
import { type Reply, UnreadableReply } from '@gateway/upstream/replies/reply';
import { dataIn, type ReadResponse } from '../../large/data-columns.ts';
import type { EndTask, ReadEnd } from '../../large/end-task.ts';
import { inThread } from '../../large/in-thread.ts';
import { itemsIn } from '../../large/item-columns.ts';
import type { ReadReply, ReplyTask } from '../../large/reply-task.ts';
import { bufferOf, sharedBytes } from '../../large/shared-bytes.ts';
import type { StoredMessage } from '../../protocols/messages/reply/message-recorder.ts';
import { makerAt, makerName } from '../../stored/origins/maker.ts';
import type { NewItem } from '../../stored/store/window-nodes.ts';
import { type JsonObject, objectOf } from '../../wire/json-object.ts';
import { parseBody } from '../../wire/raw-json.ts';
import type { TextProtocol } from '../../wire/text-protocol.ts';
import type { Part } from '../accounting/broken-answer.ts';
import { type TextCall, waitingFor } from '../request/text-call.ts';

/** A large reply as the thread has read and written it. */
export interface LargeReply
  extends Pick<ReadReply, 'kind' | 'usage' | 'outputLength' | 'unknownFinish' | 'ids'> {
  /** Its small members. */
  readonly head: JsonObject;
  readonly bytes: Buffer;
  readonly stored: ReadResponse | null;
  readonly message: StoredMessage | null;
}

export type LargeResult =
  | LargeReply
  | { readonly kind: 'paused'; readonly content: readonly JsonObject[] }
  | { readonly kind: 'refused'; readonly error: GatewayError; readonly part: Part };

/** Ids of items that one command of Redis looks up. */
export const ITEMS_PER_LOOK = 200;

/**
 * Reads a large reply in the thread, and has it written there for its caller. It is read although its caller may have left, for what it
 * has used.
 */
export async function readLarge(
  call: TextCall,
  reply: Reply,
  { bytes: received, order }: Pick<ReplyTask, 'order'> & { readonly bytes: Buffer },
): Promise<LargeResult> {
  const { history, services } = call;
  const bytes = sharedBytes(received);
  const storing = { owner: history.owner, maker: makerName(makerAt(reply.candidate)) };
  const { owner, load } = waitingFor(call);
  const read = (given: ReplyTask['order']) =>
    inThread('reply', { bytes, order: given, storing }, { owner, load }).catch(throwTooMuch);
  const first = await read(order);
  const result =
    first.kind === 'asking' && order.kind === 'passed'
      ? await read({ ...order, known: await lookUp(first.ids) })
      : first;
  switch (result.kind) {
    case 'asking':
      throw new Error('a reply whose ids are known');
    case 'paused':
      return { kind: 'paused', content: blocksIn(result.content) };
    case 'refused': {
      const { usage, outputLength, error, isUnreadable } = result;
      const known = GatewayError.deserialize(error);
      const message = cleanMessage(known.message, reply.candidate);
      return {
        kind: 'refused',
        error: isUnreadable
          ? new UnreadableReply(message)
          : new GatewayError(known.code, { ...known.options, message }),
        part: { usage, outputLength },
      };
    }
    default: {
      const { head, output, data, message, ...rest } = result;
      return {
        ...rest,
        head: objectOf(parseBody(head)),
        bytes: result.bytes === null ? bytes : bufferOf(result.bytes),
        stored: output && data && { output: itemsIn(output), data: dataIn(data) },
        message: message && storedMessage(message.id, itemsIn(message.item)),
      };
    }
  }

  async function lookUp(ids: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
    const known = new Map<string, boolean>();
    for (let at = 0; at < ids.length; at += ITEMS_PER_LOOK) {
      const some = ids.slice(at, at + ITEMS_PER_LOOK);
      // Where that cannot be known it may be so.
      const found = await services.conversations.hasItems(history.owner, some).catch(() => []);
      for (const [index, id] of some.entries()) known.set(id, found[index] ?? true);
    }
    return known;
  }
}

const blocksIn = (json: string): readonly JsonObject[] => {
  const blocks = parseBody(json);
  return Array.isArray(blocks) ? blocks.map(objectOf) : [];
};

const storedMessage = (id: string, [item]: readonly NewItem[]): StoredMessage | null =>
  item === undefined ? null : { id, item };

/** The whole reply that a large stream amounts to; null where it is none. */
export async function collectedLarge(
  call: TextCall,
  { protocol, bytes }: { readonly protocol: TextProtocol; readonly bytes: Buffer },
): Promise<Buffer | null> {
  const { owner, load } = waitingFor(call);
  const task = { protocol, bytes: sharedBytes(bytes) };
  const written = await inThread('collect', task, { owner, load }).catch(throwTooMuch);
  return written && bufferOf(written);
}

/** A large reply with other members, or as events; null where it is no finished reply. */
export async function amendedLarge(
  call: TextCall,
  bytes: Buffer,
  {
    members,
    asStream,
  }: {
    readonly members: JsonObject | null;
    readonly asStream: { readonly protocol: TextProtocol; readonly hidesUsage: boolean } | null;
  },
): Promise<Buffer | null> {
  if (members === null && asStream === null) return bytes;
  const { owner, load } = waitingFor(call);
  const task = { bytes, members: JSON.stringify(members ?? {}), asStream };
  const written = await inThread('amend', task, { owner, load });
  return written && bufferOf(written);
}

/** It is the upstream's reply that takes too long, and not the caller's request. */
function throwTooMuch(error: unknown): never {
  throw error instanceof GatewayError && error.code === 'request_too_large' ? tooMuch() : error;
}

const tooMuch = (): GatewayError =>
  new GatewayError('upstream_failed', {
    message: 'The upstream sent more than this gateway takes.',
    source: 'upstream',
    retry: false,
  });

/** A large event that ends a response. */
export interface LargeEnd extends Pick<ReadEnd, 'outputLength' | 'ids'> {
  /** The small members of its response, and those beside it. */
  readonly head: JsonObject;
  readonly event: JsonObject;
  /** Its data as its caller gets it. */
  readonly bytes: Buffer;
  readonly isChanged: boolean;
  readonly stored: ReadResponse | null;
}

/** Reads such an event in the thread; null for any other, and for one that shows less than the events before it. */
export async function readLargeEnd(
  call: TextCall,
  { candidate }: Reply,
  { bytes: received, ...task }: Omit<EndTask, 'storing' | 'bytes'> & { readonly bytes: Buffer },
): Promise<LargeEnd | null> {
  const bytes = sharedBytes(received);
  const storing = { owner: call.history.owner, maker: makerName(makerAt(candidate)) };
  const { owner, load } = waitingFor(call);
  const read = await inThread('end', { ...task, bytes, storing }, { owner, load }).catch(throwTooMuch);
  if (read === null) return null;
  const { head, event, output, data, bytes: written, ...rest } = read;
  return {
    ...rest,
    head: objectOf(parseBody(head)),
    event: objectOf(parseBody(event)),
    bytes: written === null ? bytes : bufferOf(written),
    isChanged: written !== null,
    stored: output && data && { output: itemsIn(output), data: dataIn(data) },
  };
}

/** Such an event with other members of its response. */
export async function amendedEnd(call: TextCall, bytes: Buffer, members: JsonObject): Promise<Buffer> {
  const { owner, load } = waitingFor(call);
  const task = { bytes, members: JSON.stringify(members) };
  return bufferOf(await inThread('amendEvent', task, { owner, load }).catch(throwTooMuch));
}
