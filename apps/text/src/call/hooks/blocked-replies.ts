import type { Frame } from '@gateway/contracts/event-stream/frame-reader';
import { DONE_FRAME, dataFrame, namedFrame } from '@gateway/contracts/event-stream/sse-frames';
import type { Protocol } from '@gateway/upstream/protocol';
import { createOutputCollector } from '../../protocols/responses/stream/output-collector.ts';
import { isObject, type JsonObject, numberAt, objectAt } from '../../wire/json-object.ts';
import { typeOf } from './stream-pieces.ts';

const CONTENT_FILTER = 'content_filter';
const INCOMPLETE = { status: 'incomplete', incomplete_details: { reason: CONTENT_FILTER } };

const objectsIn = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

const blockedChoice = (choice: JsonObject): JsonObject => {
  const { message, text, logprobs: _, ...rest } = choice;
  return {
    ...rest,
    ...(message !== undefined && { message: { role: 'assistant', content: null, refusal: null } }),
    ...(text !== undefined && { text: '' }),
    logprobs: null,
    finish_reason: CONTENT_FILTER,
  };
};

const ofChoices = (body: JsonObject): JsonObject => ({
  ...body,
  choices: objectsIn(body.choices).map(blockedChoice),
});

/** A whole reply without what was blocked: as its protocol says it of a refusal, with the usage that it reports. */
const WHOLE: Readonly<Partial<Record<Protocol, (body: JsonObject) => JsonObject>>> = {
  responses: (body) => ({ ...body, ...INCOMPLETE, output: [] }),
  messages: (body) => ({ ...body, content: [], stop_reason: 'refusal', stop_sequence: null }),
  chat: ofChoices,
  completions: ofChoices,
  gemini: (body) => ({
    ...body,
    candidates: objectsIn(body.candidates).map((candidate, index) => ({
      finishReason: 'SAFETY',
      index: numberAt(candidate, 'index') ?? index,
    })),
  }),
  converse: (body) => ({
    ...body,
    output: { message: { role: 'assistant', content: [] } },
    stopReason: 'guardrail_intervened',
  }),
};

export const blockedReply = (protocol: Protocol, body: JsonObject): JsonObject =>
  WHOLE[protocol]?.(body) ?? {};

/** Knows how to end a stream that is blocked, of what has passed of it. */
export interface StreamEnder {
  passed(event: JsonObject, data: string, frame: Frame): void;
  /** The events that end it. */
  blocked(): string;
}

function responsesEnder(): StreamEnder {
  const output = createOutputCollector();
  let response: JsonObject = {};
  let sequenceNumber = -1;
  return {
    passed: (event, data, frame) => {
      sequenceNumber = numberAt(event, 'sequence_number') ?? sequenceNumber + 1;
      const shown = objectAt(event, 'response');
      if (shown !== null) response = shown;
      else if (!output.delta(frame)) output.event(typeOf(event), event, data);
    },
    blocked: () =>
      namedFrame({
        type: 'response.incomplete',
        sequence_number: sequenceNumber + 1,
        response: { ...response, ...INCOMPLETE, output: [...output.items('incomplete').values()] },
      }),
  };
}

function messagesEnder(): StreamEnder {
  let open: unknown = null;
  return {
    passed: (event) => {
      const type = typeOf(event);
      if (type === 'content_block_start') open = event.index;
      if (type === 'content_block_stop') open = null;
    },
    // How much was generated its provider would have said at the end.
    blocked: () =>
      [
        ...(open === null ? [] : [namedFrame({ type: 'content_block_stop', index: open })]),
        namedFrame({
          type: 'message_delta',
          delta: { stop_reason: 'refusal', stop_sequence: null },
          usage: { output_tokens: 0 },
        }),
        namedFrame({ type: 'message_stop' }),
      ].join(''),
  };
}

/** @param choiceOf the last chunk of one answer */
function chunksEnder(
  list: 'choices' | 'candidates',
  choiceOf: (index: number) => JsonObject,
  end: string,
): StreamEnder {
  let last: JsonObject = {};
  const open = new Set<number>();
  return {
    passed: (event) => {
      last = { ...last, ...event };
      for (const [at, choice] of objectsIn(event[list]).entries()) {
        const index = numberAt(choice, 'index') ?? at;
        if ((choice.finish_reason ?? choice.finishReason ?? null) === null) open.add(index);
        else open.delete(index);
      }
    },
    blocked: () => {
      const { usage: _, ...members } = last;
      const indexes = open.size === 0 ? [0] : [...open];
      return dataFrame({ ...members, [list]: indexes.map(choiceOf) }) + end;
    },
  };
}

const ENDERS: Readonly<Partial<Record<Protocol, () => StreamEnder>>> = {
  responses: responsesEnder,
  messages: messagesEnder,
  chat: () =>
    chunksEnder(
      'choices',
      (index) => ({ index, delta: {}, logprobs: null, finish_reason: CONTENT_FILTER }),
      DONE_FRAME,
    ),
  completions: () =>
    chunksEnder(
      'choices',
      (index) => ({ index, text: '', logprobs: null, finish_reason: CONTENT_FILTER }),
      DONE_FRAME,
    ),
  gemini: () =>
    chunksEnder(
      'candidates',
      (index) => ({ content: { role: 'model', parts: [] }, finishReason: 'SAFETY', index }),
      '',
    ),
  converse: () => ({
    passed: () => undefined,
    blocked: () => dataFrame({ messageStop: { stopReason: 'guardrail_intervened' } }),
  }),
};

const NO_ENDER: StreamEnder = { passed: () => undefined, blocked: () => '' };

export const streamEnder = (protocol: Protocol): StreamEnder => ENDERS[protocol]?.() ?? NO_ENDER;
