import { anthropicError } from '@gateway/service-kit/error-response';
import { type JsonObject, objectAt, parseObject, textAt } from '../json-object.ts';
import { usageBy, usageOfMessage } from '../usage.ts';
import { Garbage, type StreamWatch } from './stream-watch.ts';

const readUsage = usageBy(usageOfMessage);

/** Where the different deltas carry what the model wrote. */
const DELTA_TEXTS = ['text', 'thinking', 'partial_json'] as const;

/** Watches a stream of the Messages protocol. */
export function createMessageWatch(): StreamWatch {
  let id: string | null = null;
  // Totals: each report overwrites what it names and leaves the rest (protocol §7).
  let usage: JsonObject | null = null;
  let outputLength = 0;
  let ended = false;
  let reportedFailure: string | null = null;

  const addUsage = (reported: JsonObject | null) => {
    if (reported !== null) usage = { ...usage, ...withoutNulls(reported) };
  };

  const steps: Readonly<Record<string, (event: JsonObject) => void>> = {
    message_start: (event) => {
      const message = objectAt(event, 'message');
      if (message === null) return;
      id = textAt(message, 'id');
      addUsage(objectAt(message, 'usage'));
    },
    content_block_delta: (event) => {
      const delta = objectAt(event, 'delta');
      for (const name of DELTA_TEXTS) outputLength += (delta && textAt(delta, name))?.length ?? 0;
    },
    message_delta: (event) => addUsage(objectAt(event, 'usage')),
    message_stop: () => {
      ended = true;
    },
    error: (event) => {
      ended = true;
      const error = objectAt(event, 'error');
      reportedFailure = (error && textAt(error, 'type')) ?? 'error';
    },
  };

  return {
    event: (data) => {
      const event = parseObject(data);
      if (event === null) throw new Garbage();
      steps[textAt(event, 'type') ?? '']?.(event);
    },
    get id() {
      return id;
    },
    get usage() {
      return usage === null ? null : readUsage({ usage });
    },
    get outputLength() {
      return outputLength;
    },
    get ended() {
      return ended;
    },
    get mayEnd() {
      return ended;
    },
    get reportedFailure() {
      return reportedFailure;
    },
    breakOff: (error, requestId) => {
      const event = { type: 'error', error: anthropicError(error), request_id: requestId };
      return `event: error\ndata: ${JSON.stringify(event)}\n\n`;
    },
    // A ping may stand anywhere behind message_start.
    keepAlive: () => (id === null ? null : 'event: ping\ndata: {"type": "ping"}\n\n'),
  };
}

const withoutNulls = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
