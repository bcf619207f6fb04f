import type { IncomingHttpHeaders } from 'node:http';
import { dataOf, eventNameOf } from '@gateway/contracts/event-stream/frame-data';
import { createFrameReader, type Frame } from '@gateway/contracts/event-stream/frame-reader';
import { isEventStream } from '@gateway/contracts/event-stream/sse-frames';
import { END_MARK, STREAM_EVENTS } from '@gateway/contracts/event-stream/stream-events';
import { endsAnswer } from '@gateway/contracts/finish-words';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { lookUp } from '@gateway/contracts/look-up';
import { z } from 'zod';
import type { Protocol } from '../protocol.ts';
import type { Verdict } from './check-first-output.ts';
import { disguised, reportsFailure } from './reported-error.ts';

/** The events of one protocol's streams that show nothing of the answer yet. */
interface StartEvents {
  /** By name, whatever they hold. */
  readonly names: ReadonlySet<string>;
  /** By name, those that show nothing where they have this shape; an event without a name has the empty one. */
  readonly empty: Readonly<Record<string, z.ZodType>>;
}

/** A member without content. */
const Nothing = z.union([z.null(), z.literal(''), z.array(z.never())]);

/** Chat: the role, and empty deltas; also a chunk without a choice, such as Azure's verdict on the prompt. */
const EmptyChunk = z.looseObject({
  choices: z
    .array(
      z.looseObject({
        delta: z.object({ role: z.string().nullish() }).catchall(Nothing).nullish(),
        text: Nothing.optional(),
        finish_reason: z
          .unknown()
          .refine((word) => !endsAnswer(word))
          .optional(),
      }),
    )
    .nullable(),
});

/** Gemini: no text yet, and no end. A part with anything else is output, also a signature. */
const EmptyCandidates = z.looseObject({
  candidates: z
    .array(
      z.looseObject({
        content: z
          .looseObject({
            parts: z.array(z.strictObject({ text: Nothing, thought: z.boolean().optional() })).nullish(),
          })
          .nullish(),
        finishReason: z
          .unknown()
          .refine((word) => !endsAnswer(word))
          .optional(),
      }),
    )
    .nullish(),
  promptFeedback: z.looseObject({ blockReason: z.undefined() }).nullish(),
});

/** A text or a refusal that has begun or ended with nothing in it. */
const EmptyText = z
  .object({ type: z.enum(['output_text', 'text', 'refusal', 'text_delta']) })
  .catchall(Nothing);
const EmptyItem = z.looseObject({
  item: z.looseObject({ type: z.literal('message'), content: z.array(EmptyText).nullish() }),
});
const EmptyPart = z.looseObject({ part: EmptyText });

/** A piece without content, and the end of a block: what had content before it was output. */
const EmptyDelta = z.looseObject({
  contentBlockDelta: z.looseObject({ delta: z.object({ text: Nothing }).strict() }),
});

const namesOf = ({
  start,
  silence,
}: {
  readonly start: readonly string[];
  readonly silence: readonly string[];
}) => new Set([...start, ...silence]);

/**
 * What comes before a stream's first output. An event that is not in this table is output, whether known or not. An empty
 * text shows nothing. The beginning of any other item or block is output: where its content is encrypted, a minute may
 * pass until the next event.
 */
const START_EVENTS: Readonly<Partial<Record<Protocol, StartEvents>>> = {
  responses: {
    names: namesOf(STREAM_EVENTS.responses),
    empty: {
      'response.output_item.added': EmptyItem,
      'response.output_item.done': EmptyItem,
      'response.content_part.added': EmptyPart,
      'response.content_part.done': EmptyPart,
      'response.output_text.delta': z.looseObject({ delta: Nothing }),
      'response.output_text.done': z.looseObject({ text: Nothing }),
      'response.refusal.delta': z.looseObject({ delta: Nothing }),
      'response.refusal.done': z.looseObject({ refusal: Nothing }),
    },
  },
  messages: {
    names: namesOf(STREAM_EVENTS.messages),
    empty: {
      content_block_start: z.looseObject({ content_block: EmptyText }),
      content_block_delta: z.looseObject({ delta: EmptyText }),
      // Whatever had content before it was output.
      content_block_stop: z.looseObject({}),
    },
  },
  chat: { names: new Set(), empty: { '': EmptyChunk } },
  gemini: { names: new Set(), empty: { '': EmptyCandidates } },
  converse: {
    names: namesOf(STREAM_EVENTS.converse),
    empty: { contentBlockDelta: EmptyDelta, contentBlockStop: z.looseObject({}) },
  },
  // Its first event is output, if it can be read.
  transcriptions: { names: new Set(), empty: {} },
};

/** Larger events are not parsed here: what they hold is taken for output. */
const MAX_PARSED_CHARS = 16_384;

/** Events by which a protocol reports a failure. */
const FAILURE_EVENTS: ReadonlySet<string> = new Set(
  Object.values(STREAM_EVENTS).flatMap(({ failure }) => failure),
);

const TYPE_MEMBER = /^\s*\{\s*"type"\s*:\s*"([^"\\]*)"/;

const NONE: StartEvents = { names: new Set(), empty: {} };

type FrameVerdict = 'start' | Exclude<Verdict, 'wait' | 'wait-for-end'>;

/**
 * Reads a text stream up to its first output: until then another channel can be tried. Its bytes are read and
 * not kept. They wait where the reply's body waits for its consumer.
 */
export class HeldStart {
  readonly #startEvents: StartEvents;
  readonly #reader = createFrameReader({ maxFrameBytes: Number.POSITIVE_INFINITY });
  /** Whether a start event has arrived: the provider has taken the request. */
  hasBegun = false;

  constructor(protocol: Protocol) {
    this.#startEvents = START_EVENTS[protocol] ?? NONE;
  }

  push(chunk: Buffer): Verdict {
    for (const frame of this.#reader.push(chunk)) {
      const verdict = this.#frame(frame);
      if (verdict !== 'start') return verdict;
    }
    return 'wait';
  }

  /** The stream has ended. Its last event may lack the empty line. */
  end(): Verdict {
    const last = this.#reader.end();
    const verdict = last === null ? 'start' : this.#frame(last);
    return verdict === 'start' ? WITHOUT_OUTPUT : verdict;
  }

  #frame(frame: Frame): FrameVerdict {
    const data = dataOf(frame);
    if (data === null) return 'start';
    if (data.trim() === END_MARK) return WITHOUT_OUTPUT;
    const verdict = this.#event(eventNameOf(frame) ?? TYPE_MEMBER.exec(data)?.[1] ?? '', data);
    if (verdict === 'start') this.hasBegun = true;
    return verdict;
  }

  #event(name: string, data: string): FrameVerdict {
    if (FAILURE_EVENTS.has(name)) return disguised(data);
    const { names, empty } = this.#startEvents;
    if (!looksLikeObject(data)) return UNREADABLE;
    // A start event may repeat a whole request, so that only its outer shape is checked.
    if (names.has(name)) return 'start';
    if (data.length > MAX_PARSED_CHARS) return 'accept';
    const event = jsonIn(data);
    if (event === undefined) return UNREADABLE;
    if (reportsFailure(event)) return disguised(data);
    return lookUp(empty, name)?.safeParse(event).success ? 'start' : 'accept';
  }
}

const WITHOUT_OUTPUT = { broken: 'the stream ended before its first output' } as const;
const UNREADABLE = { broken: 'the stream has an event that cannot be read' } as const;

const looksLikeObject = (data: string): boolean => {
  const text = data.trim();
  return text.startsWith('{') && text.endsWith('}');
};

/** Reads the start of this reply; null where nothing is held back: it is no stream, or its protocol has no start events. */
export function holdStart(protocol: Protocol, headers: IncomingHttpHeaders): HeldStart | null {
  return isEventStream(headers) && START_EVENTS[protocol] !== undefined ? new HeldStart(protocol) : null;
}
