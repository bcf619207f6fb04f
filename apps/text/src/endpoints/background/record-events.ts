import type { IncomingMessage } from 'node:http';
import { createFrameReader } from '@gateway/contracts/event-stream/frame-reader';
import type {
  BackgroundResponses,
  BackgroundStatus,
  LoggedEvent,
} from '../../background/background-responses.ts';
import { type JsonObject, objectAt, objectOf } from '../../wire/json-object.ts';
import { isJsonObject, parseBody } from '../../wire/raw-json.ts';

/** How a stream has ended: its last event, and the response in it. */
export interface RecordedEnd {
  readonly status: BackgroundStatus;
  readonly response: JsonObject;
  readonly event: LoggedEvent;
}

interface RecordOptions {
  readonly reply: IncomingMessage;
  readonly id: string;
  /** The response as its caller has seen it first. */
  readonly accepted: JsonObject;
  /** Null where nobody can read the events. */
  readonly log: Pick<BackgroundResponses, 'append'> | null;
}

/** A frame may hold a whole image. */
const MAX_FRAME_BYTES = 64 * 1024 * 1024;
/** The caller has got these when the response was accepted. */
const SENT_BEFORE = new Set(['response.created', 'response.queued']);
const LAST_EVENTS: ReadonlyMap<string, BackgroundStatus> = new Map([
  ['response.completed', 'completed'],
  ['response.incomplete', 'incomplete'],
  ['response.failed', 'failed'],
]);
/** What the gateway has promised of the response, whatever the provider calls it. */
const STORED_MEMBERS = ['id', 'created_at', 'background', 'store', 'previous_response_id'] as const;

/**
 * Reads the events of a generated response to their end and keeps them on the way. The last one is returned instead, so
 * that the response and its end become known in one step. Null where there is none, or where another process has ended
 * the response.
 */
export async function recordEvents({ reply, id, accepted, log }: RecordOptions): Promise<RecordedEnd | null> {
  const stored = Object.fromEntries(
    STORED_MEMBERS.flatMap((name) => (name in accepted ? [[name, accepted[name]]] : [])),
  );
  const frames = createFrameReader({ maxFrameBytes: MAX_FRAME_BYTES });
  // To leave the loop must not break the exchange off.
  for await (const chunk of reply.iterator({ destroyOnReturn: false })) {
    const events: LoggedEvent[] = [];
    let end: RecordedEnd | null = null;
    for (const { data } of frames.push(chunk)) {
      const event = data === null ? null : eventOf(data, stored);
      if (event === null || end !== null || SENT_BEFORE.has(event.type)) continue;
      const status = LAST_EVENTS.get(event.type);
      if (status === undefined) events.push(event);
      else end = { status, response: objectOf(event.rest.response), event };
    }
    if (events.length > 0 && log !== null && !(await log.append(id, events))) return null;
    if (end !== null) {
      // What follows is `[DONE]`.
      reply.resume();
      return end;
    }
  }
  return null;
}

/** An event under the response's own id. Long numbers stay as they are. */
function eventOf(data: string, stored: JsonObject): LoggedEvent | null {
  if (data === '[DONE]') return null;
  const parsed = parseBody(data);
  if (!isJsonObject(parsed) || typeof parsed.type !== 'string') return null;
  const { type, sequence_number: _, ...rest } = parsed;
  const response = objectAt(rest, 'response');
  return { type, rest: response === null ? rest : { ...rest, response: { ...response, ...stored } } };
}
