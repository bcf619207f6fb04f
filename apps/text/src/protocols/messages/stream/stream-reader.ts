import { dataOf, hasEmptyData } from '@gateway/contracts/event-stream/frame-data';
import { namedFrame } from '@gateway/contracts/event-stream/sse-frames';
import { meansFailure } from '@gateway/contracts/finish-words';
import { reportsFailure } from '@gateway/upstream/first-output/reported-error';
import { writtenIn } from '../../../wire/answer-length.ts';
import { type JsonObject, objectAt, textAt } from '../../../wire/json-object.ts';
import { failureWordOf } from '../../../wire/openai-errors.ts';
import {
  findString,
  isErrorEvent,
  readEvent,
  type StreamReader,
} from '../../../wire/stream/stream-reader.ts';
import { ToolBlockCounter } from '../../../wire/tool-calls.ts';
import { errorFrame, errorTypeOf } from '../reply/errors.ts';
import { mergeUsage, readUsageAtTier, usageSoFar } from '../reply/usage.ts';

/** The members in which the deltas hold what the model wrote. */
const DELTA_TEXTS = ['text', 'thinking', 'partial_json'] as const;
/** The same within an event, as it is written without spaces. */
const DELTA_OPENINGS = [
  '"text_delta","text":"',
  '"thinking_delta","thinking":"',
  '"input_json_delta","partial_json":"',
] as const;
const STOP_FRAME = namedFrame({ type: 'message_stop' });
const DELTA_EVENT = '{"type":"content_block_delta"';

/** Breaks a silence, spelled as Anthropic spells it. */
export const PING_FRAME = 'event: ping\ndata: {"type": "ping"}\n\n';

/** Reads a stream of the Messages protocol. */
export function createMessagesStreamReader(): StreamReader {
  let id: string | null = null;
  let model: string | null = null;
  let stopReason: unknown = null;
  let usage: ReturnType<typeof mergeUsage> = null;
  const calls = new ToolBlockCounter();
  let outputLength = 0;
  /** A server gave its reason to stop; what follows shows nothing. */
  let stopped = false;
  let ended = false;
  let reportedFailure: string | null = null;

  const steps: Readonly<Record<string, (event: JsonObject) => void>> = {
    message_start: (event) => {
      const message = objectAt(event, 'message');
      if (message === null) return;
      id = textAt(message, 'id');
      model = textAt(message, 'model');
      usage = mergeUsage(usage, message.usage);
      for (const block of Array.isArray(message.content) ? message.content : []) calls.add(block);
      outputLength += writtenIn(message.content);
    },
    content_block_start: (event) => {
      calls.add(event.content_block);
      outputLength += writtenIn(event.content_block);
    },
    content_block_delta: (event) => {
      const delta = objectAt(event, 'delta');
      for (const name of DELTA_TEXTS) outputLength += (delta && textAt(delta, name))?.length ?? 0;
    },
    message_delta: (event) => {
      usage = mergeUsage(usage, event.usage);
      const reason = objectAt(event, 'delta')?.stop_reason;
      stopReason = reason ?? stopReason;
      if (meansFailure(reason)) reportedFailure = String(reason);
      else stopped ||= typeof reason === 'string' && reason !== '';
    },
    message_stop: (event) => {
      usage = mergeUsage(usage, event.usage);
      ended = true;
    },
    error: (event) => {
      usage = mergeUsage(usage, event.usage);
      ended = true;
      reportedFailure = errorTypeOf(event) ?? 'error';
    },
  };
  const stepOf = (type: string | null) =>
    type !== null && Object.hasOwn(steps, type) ? steps[type] : undefined;

  /** Whether an event was a delta, whose length is all that counts of it. */
  const passesUnread = (text: string): boolean => {
    if (!text.includes(DELTA_EVENT)) return false;
    for (const opening of DELTA_OPENINGS) {
      const found = findString(text, opening);
      if (found === null) continue;
      outputLength += found.end - found.start;
      return true;
    }
    return false;
  };

  return {
    frame: (frame) => {
      if (passesUnread(frame.latin1)) return 'delta';
      const data = dataOf(frame);
      if (data === null) return hasEmptyData(frame) ? 'hidden' : 'event';
      const event = readEvent(data);
      if (event === null) return 'event';
      const type = textAt(event, 'type');
      const hadFailed = reportedFailure !== null;
      stepOf(type)?.(event);
      if (stepOf(type) === undefined && (reportsFailure(event) || isErrorEvent(frame)))
        reportedFailure ??= failureWordOf(data);
      // Clients know one event for a failure.
      return type === 'error' || hadFailed || reportedFailure === null ? 'event' : 'failed';
    },
    get id() {
      return id;
    },
    answered: () => ({ model, ends: stopReason === null ? [] : [stopReason] }),
    get usage() {
      const { counts } = calls;
      return stopped ? readUsageAtTier(usage, counts) : usageSoFar(readUsageAtTier(usage), counts);
    },
    get outputLength() {
      return outputLength;
    },
    get ended() {
      return ended || stopped;
    },
    get mayEnd() {
      return ended || stopped;
    },
    get rest() {
      if (ended || reportedFailure !== null) return 'read-off';
      return stopped ? 'ending' : 'wanted';
    },
    get owed() {
      return stopped && !ended ? STOP_FRAME : '';
    },
    get reportedFailure() {
      return reportedFailure;
    },
    breakOff: (error, requestId) => [errorFrame(error, requestId)],
    // A ping may come anywhere after message_start.
    keepAlive: () => (id === null ? null : PING_FRAME),
  };
}
