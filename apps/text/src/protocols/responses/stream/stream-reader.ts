import { dataOf, hasEmptyData } from '@gateway/contracts/event-stream/frame-data';
import { COMMENT_FRAME, DONE_FRAME, namedFrame } from '@gateway/contracts/event-stream/sse-frames';
import { responseEndAfter } from '@gateway/contracts/event-stream/stream-events';
import { reportsFailure } from '@gateway/upstream/first-output/reported-error';
import { answerLength, writtenIn } from '../../../wire/answer-length.ts';
import { answeredIn } from '../../../wire/answered-in.ts';
import { type JsonObject, numberAt, objectAt, parseObject, textAt } from '../../../wire/json-object.ts';
import { failureWordOf } from '../../../wire/openai-errors.ts';
import {
  isErrorEvent,
  numberAfter,
  readEvent,
  type StreamReader,
} from '../../../wire/stream/stream-reader.ts';
import { ToolCallCounter } from '../../../wire/tool-calls.ts';
import { laterUsage, type Usage } from '../../../wire/usage.ts';
import { usageOfCalls } from '../../../wire/usage-places.ts';
import { encodeOpenAiError, reportedError } from '../reply/errors.ts';
import { readUsageAtTier } from '../reply/usage.ts';
import { missingMembers } from '../reply/whole-output.ts';
import { createOutputCollector } from './output-collector.ts';

interface ResponsesStreamOptions {
  /** The stream repeats what was generated before, from any point on: there may be nothing left to repeat. */
  readonly resumed?: boolean;
}

/** Reads a stream of the Responses protocol. */
export function createResponsesStreamReader({ resumed = false }: ResponsesStreamOptions = {}): StreamReader {
  const output = createOutputCollector();
  let id: string | null = null;
  /** The data of the last event that held the whole response: as text, because it is needed only when the stream breaks. */
  let lifecycle: string | null = null;
  /** The number of the last event that was read, and the frame of the last one since then that was not. */
  let sequenceNumber = -1;
  let unread: string | null = null;
  let usage: Usage | null = null;
  const calls = new ToolCallCounter();
  let ended = false;
  /** When it is cancelled its stream just ends. */
  let isBackground = false;
  let reportedFailure: string | null = null;
  let reported: JsonObject | null = null;
  let isDone = false;

  const onResponse = (type: string, response: JsonObject, data: string) => {
    id ??= textAt(response, 'id');
    lifecycle = data;
    isBackground = response.background === true;
    ended = responseEndAfter(type) !== undefined;
    usage = laterUsage(usage, readUsageAtTier(response, ended ? calls.counts : undefined));
    if (!ended) return;
    const error = objectAt(response, 'error');
    if (type !== 'response.failed' && response.status !== 'failed' && error === null) return;
    reportedFailure = (error && textAt(error, 'code')) ?? 'failed';
  };

  /** A last event that does not show the response. */
  const onEndAlone = (type: string, event: JsonObject) => {
    ended = true;
    const error = objectAt(event, 'error');
    if (type === 'response.failed' || error !== null)
      reportedFailure = (error && textAt(error, 'code')) ?? 'failed';
  };

  /** A last event whose name says that all went well; clients know that it has not by the one for failures. */
  const hasFailedOtherwise = (type: string, response: JsonObject | null): boolean =>
    reportedFailure !== null && type !== 'response.failed' && (response !== null || type === '');

  const failedResponse = (error: object): JsonObject => {
    const known = lifecycle === null ? null : parseObject(lifecycle);
    const items = [...output.items('incomplete').values()];
    return { ...(known && objectAt(known, 'response')), status: 'failed', error, output: items };
  };

  const shown = (): JsonObject => {
    const known = lifecycle === null ? null : parseObject(lifecycle);
    return (known && objectAt(known, 'response')) ?? { object: 'response', output: [] };
  };

  const lastLength = (): number => {
    const event = lifecycle === null ? null : parseObject(lifecycle);
    const response = event && objectAt(event, 'response');
    return response === null ? 0 : answerLength(response);
  };

  const nextSequenceNumber = (): number => {
    const last = unread === null ? null : numberAfter(unread, '"sequence_number":');
    return (last ?? sequenceNumber) + 1;
  };

  return {
    frame: (frame) => {
      if (output.delta(frame)) {
        unread = frame.latin1;
        return 'delta';
      }
      const data = dataOf(frame);
      if (data === null) return hasEmptyData(frame) ? 'hidden' : 'event';
      const event = readEvent(data);
      if (event === null) {
        isDone = true;
        return 'event';
      }
      sequenceNumber = numberAt(event, 'sequence_number') ?? nextSequenceNumber() - 1;
      unread = null;
      const type = textAt(event, 'type') ?? '';
      const response = objectAt(event, 'response');
      if (response !== null) onResponse(type, response, data);
      else if (responseEndAfter(type) !== undefined) onEndAlone(type, event);
      else if (type === 'error') {
        reported = objectAt(event, 'error') ?? event;
        reportedFailure = textAt(reported, 'code') ?? 'error';
      } else if (type === '' && (reportsFailure(event) || isErrorEvent(frame)))
        reportedFailure = failureWordOf(data);
      else {
        if (type === 'response.output_item.done') calls.add(event.item);
        output.event(type, event, data);
      }
      return hasFailedOtherwise(type, response) ? 'failed' : 'event';
    },
    get id() {
      return id;
    },
    answered: () => answeredIn(shown()),
    get usage() {
      return ended ? usage : laterUsage(usage, usageOfCalls(calls.counts));
    },
    get outputLength() {
      // Where there are no deltas, the items or the last event have the words.
      return Math.max(output.length, writtenIn([...output.items('completed').values()]), lastLength());
    },
    get ended() {
      return ended;
    },
    get mayEnd() {
      return ended || isBackground || (resumed && lifecycle === null && nextSequenceNumber() === 0);
    },
    get reportedFailure() {
      return reportedFailure;
    },
    get rest() {
      // After an error event the failed response may follow.
      if (!ended) return reportedFailure === null ? 'wanted' : 'ending';
      return isDone ? 'read-off' : 'ending';
    },
    owed: '',
    breakOff: (gatewayError) => {
      const error = reported === null ? encodeOpenAiError(gatewayError) : reportedError(reported);
      const { code, message, param } = error;
      const sequence = nextSequenceNumber();
      const frames = [
        // What the provider has reported is not repeated.
        ...(reported === null ? [{ type: 'error', code, message, param, error }] : []),
        { type: 'response.failed', response: failedResponse(error) },
      ].map(({ type, ...rest }, index) => namedFrame({ type, sequence_number: sequence + index, ...rest }));
      return [...frames, DONE_FRAME];
    },
    shown,
    itemCount: () => output.size,
    missingMembers: (response, type) => missingMembers(response, type, output),
    // A comment: every client's parser skips it, and it takes no sequence number.
    keepAlive: () => COMMENT_FRAME,
  };
}
