import { namedFrame } from '@gateway/contracts/event-stream/sse-frames';
import { responseEndAfter } from '@gateway/contracts/event-stream/stream-events';
import { mayComeAgain } from '../passthrough/given-ids.ts';
import { withIds } from '../passthrough/own-members.ts';
import { isUnfinished, missingMembers } from '../protocols/responses/reply/whole-output.ts';
import { type Kept, receivedIds } from '../stored/origins/received-ids.ts';
import { answerLength } from '../wire/answer-length.ts';
import { type JsonObject, objectOf, textAt } from '../wire/json-object.ts';
import { isJsonObject, parseBody } from '../wire/raw-json.ts';
import { type ReadReply, readAs } from './reply-task.ts';
import { bufferOf, sharedText } from './shared-bytes.ts';

export interface EndTask {
  /** The data of an event. */
  readonly bytes: Uint8Array;
  /** How many items came in events of their own. */
  readonly itemCount: number;
  /** Whether its caller may have had ids of its items before. Those of items that came in events of their own are its own. */
  readonly mayRepeatIds: boolean;
  readonly kept: Kept;
  readonly storing: { readonly owner: string; readonly maker: string };
}

/** A last event of a Responses stream, and what is stored of its response. */
export interface ReadEnd
  extends Pick<ReadReply, 'head' | 'bytes' | 'outputLength' | 'ids' | 'output' | 'data'> {
  /** Its members beside the response, as JSON. */
  readonly event: string;
}

/** Null for any other event, for one that shows less than the events before it, and for ids that have to be looked up. */
export function endTask({ bytes, itemCount, mayRepeatIds, kept, storing }: EndTask): ReadEnd | null {
  const event = objectOf(parseBody(bufferOf(bytes).toString()));
  const { response, ...rest } = event;
  const type = textAt(event, 'type') ?? '';
  if (!isJsonObject(response) || responseEndAfter(type) === undefined) return null;
  const shown = Array.isArray(response.output) ? response.output.filter(isJsonObject) : [];
  if (shown.length < itemCount || (itemCount > 0 && shown.some(isUnfinished))) return null;
  if (mayRepeatIds && shown.length > itemCount && shown.some(mayBeOld)) return null;
  const missing = withIds(missingMembers(response, type));
  const written = { ...response, ...missing };
  const { head, output, data } = readAs(written, 'responses', storing);
  return {
    head,
    event: JSON.stringify(rest),
    bytes: missing === null ? null : sharedText(JSON.stringify({ ...event, response: written })),
    outputLength: answerLength(written),
    ids: receivedIds('responses', written, kept),
    output,
    data,
  };
}

const mayBeOld = (item: JsonObject): boolean =>
  'call_id' in item || typeof item.id !== 'string' || mayComeAgain(item.id);

export interface AmendEventTask {
  readonly bytes: Uint8Array;
  /** Members of its response that its caller gets instead, as JSON. */
  readonly members: string;
}

/** Writes an event whose response has other members. */
export function amendEventTask({ bytes, members }: AmendEventTask): Uint8Array {
  const event = objectOf(parseBody(bufferOf(bytes).toString()));
  const response = { ...objectOf(event.response), ...objectOf(parseBody(members)) };
  return sharedText(namedFrame({ ...event, type: textAt(event, 'type') ?? '', response }));
}
