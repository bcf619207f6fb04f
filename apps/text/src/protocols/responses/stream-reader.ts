import { openaiError } from '@gateway/service-kit/error-response';
import { type JsonObject, numberAt, objectAt, parseObject, textAt } from '../json-object.ts';
import { type TokenUsage, usageBy, usageOfResponse } from '../usage.ts';
import { createOutputCollector } from './output-collector.ts';
import { Garbage, type StreamWatch } from './stream-watch.ts';

/** The events after which nothing follows but `[DONE]`. */
const LAST_EVENTS = new Set(['response.completed', 'response.incomplete', 'response.failed']);

/** Codes that a broken response may carry; clients know no others there (protocol §5). */
const RESPONSE_ERROR_CODES = new Set([
  'server_error',
  'rate_limit_exceeded',
  'server_is_overloaded',
  'slow_down',
]);

const readUsage = usageBy(usageOfResponse);

interface ResponseWatchOptions {
  /** The stream repeats what was generated before, from any point on: there may be nothing left to repeat. */
  readonly resumed?: boolean;
}

/** Watches a stream of the Responses protocol. */
export function createResponseWatch({ resumed = false }: ResponseWatchOptions = {}): StreamWatch {
  const output = createOutputCollector();
  let id: string | null = null;
  /** The data of the last event that held the whole response: as text, because it is needed only when the stream breaks. */
  let lifecycle: string | null = null;
  let nextSequenceNumber = 0;
  let usage: TokenUsage | null = null;
  let outputLength = 0;
  let ended = false;
  /** When it is cancelled its stream just ends. */
  let isBackground = false;
  let reportedFailure: string | null = null;
  let reportedError: JsonObject | null = null;

  const onResponse = (type: string, response: JsonObject, data: string) => {
    id ??= textAt(response, 'id');
    lifecycle = data;
    isBackground = response.background === true;
    usage = readUsage(response) ?? usage;
    ended = LAST_EVENTS.has(type);
    if (type !== 'response.failed') return;
    const error = objectAt(response, 'error');
    reportedFailure = (error && textAt(error, 'code')) ?? 'failed';
  };

  const failedResponse = (error: JsonObject): JsonObject => {
    const known = lifecycle === null ? null : parseObject(lifecycle);
    return { ...(known && objectAt(known, 'response')), status: 'failed', error, output: output.items() };
  };

  return {
    event: (data) => {
      if (data === '[DONE]') return;
      const event = parseObject(data);
      if (event === null) throw new Garbage();
      const type = textAt(event, 'type') ?? '';
      nextSequenceNumber = (numberAt(event, 'sequence_number') ?? nextSequenceNumber - 1) + 1;
      const response = objectAt(event, 'response');
      if (response !== null) onResponse(type, response, data);
      else if (type === 'error') {
        reportedError = objectAt(event, 'error') ?? event;
        reportedFailure = textAt(reportedError, 'code') ?? 'error';
      } else {
        outputLength += textAt(event, 'delta')?.length ?? 0;
        output.event(type, event, data);
      }
    },
    get id() {
      return id;
    },
    get usage() {
      return usage;
    },
    get outputLength() {
      return outputLength;
    },
    get ended() {
      return ended;
    },
    get mayEnd() {
      return ended || isBackground || (resumed && lifecycle === null && nextSequenceNumber === 0);
    },
    get reportedFailure() {
      return reportedFailure;
    },
    breakOff: (gatewayError) => {
      const reported = reportedError === null ? null : errorOf(reportedError);
      const error = reported ?? streamError(gatewayError);
      const { code, message, param } = error;
      const frames = [
        // What the provider has said is not said again.
        ...(reported === null ? [{ type: 'error', code, message, param, error }] : []),
        { type: 'response.failed', response: failedResponse(error) },
      ].map(({ type, ...rest }, index) => {
        const event = { type, sequence_number: nextSequenceNumber + index, ...rest };
        return `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
      });
      return `${frames.join('')}data: [DONE]\n\n`;
    },
    // A comment: every client's parser skips it, and it takes no sequence number.
    keepAlive: () => ': keepalive\n\n',
  };
}

interface StreamError extends JsonObject {
  readonly type: string;
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
}

function streamError(error: Parameters<typeof openaiError>[0]): StreamError {
  const { type, code, message, param } = openaiError(error);
  return {
    type,
    code: code !== null && RESPONSE_ERROR_CODES.has(code) ? code : 'server_error',
    message,
    param,
  };
}

const errorOf = (reported: JsonObject): StreamError => ({
  type: textAt(reported, 'type') ?? 'server_error',
  code: textAt(reported, 'code') ?? 'server_error',
  message: textAt(reported, 'message') ?? 'The upstream reported an error.',
  param: textAt(reported, 'param'),
});
