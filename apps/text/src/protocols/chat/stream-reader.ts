import { isObject, type JsonObject, numberAt, objectAt, textAt } from '../../json-object.ts';
import { atTier, type Usage } from '../conversation/reply.ts';
import { COMMENT_FRAME } from '../sse-frames.ts';
import { findString, numberAfter, readEvent, type StreamReader } from '../stream-reader.ts';
import { errorFrame, errorWordOf } from './errors.ts';
import { readUsage } from './usage.ts';

/** What a chunk that only adds text to one answer has, as it is written without spaces, and what it cannot have. */
const TEXT_OPENING = '"delta":{"content":"';
const UNFINISHED = '"finish_reason":null';
const INDEX = '"index":';
const MAY_MATTER = ['"usage":{', '"error"', '"tool_calls"', '"finish_reason":"'] as const;

interface ChatStreamOptions {
  /** The caller has not asked for the chunk that holds nothing but usage: it is read and not shown. */
  readonly hidesUsage?: boolean;
}

/**
 * Reads a stream of Chat Completions. Servers differ in how they end it: with `[DONE]`, or by closing once every
 * answer has its `finish_reason`. Both are an end.
 */
export function createChatStreamReader({ hidesUsage = false }: ChatStreamOptions = {}): StreamReader {
  let id: string | null = null;
  let usage: Usage | null = null;
  let outputLength = 0;
  let ended = false;
  /** Answers that have begun and not ended; there may be several (`n`). */
  const unfinished = new Set<number>();
  let reportedFailure: string | null = null;

  const onChoice = (choice: JsonObject) => {
    const index = numberAt(choice, 'index') ?? 0;
    if ((choice.finish_reason ?? null) === null) unfinished.add(index);
    else {
      unfinished.delete(index);
      ended = unfinished.size === 0;
    }
  };

  /** Whether a chunk added text to one answer and said nothing else. */
  const passesUnread = (text: string): boolean => {
    const said = findString(text, TEXT_OPENING);
    if (said === null || !text.includes(UNFINISHED) || MAY_MATTER.some((name) => text.includes(name)))
      return false;
    const index = numberAfter(text, INDEX);
    if (index === null || text.indexOf(INDEX) !== text.lastIndexOf(INDEX)) return false;
    unfinished.add(index);
    outputLength += said.end - said.start;
    return true;
  };

  /** Whether the caller is to see it. */
  const onChunk = (chunk: JsonObject): boolean => {
    id ??= textAt(chunk, 'id');
    usage = atTier(readUsage(chunk), chunk.service_tier) ?? usage;
    const choices = Array.isArray(chunk.choices) ? chunk.choices : [];
    for (const choice of choices) outputLength += deltaLength(choice);
    for (const choice of choices) if (isObject(choice)) onChoice(choice);
    const failure = errorWordOf(chunk);
    if (failure === null) return !hidesUsage || !isUsageChunk(chunk);
    ended = true;
    reportedFailure = failure;
    return true;
  };

  return {
    frame: (frame) => {
      if (id !== null && passesUnread(frame.latin1)) return true;
      const { data } = frame;
      if (data === null) return true;
      const chunk = readEvent(data);
      if (chunk !== null) return onChunk(chunk);
      ended = true;
      return true;
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
      return ended;
    },
    get reportedFailure() {
      return reportedFailure;
    },
    breakOff: errorFrame,
    keepAlive: () => COMMENT_FRAME,
  };
}

/** The chunk before `[DONE]` that `stream_options.include_usage` asks for: it has usage and no choices. */
const isUsageChunk = ({ choices, usage }: JsonObject): boolean =>
  Array.isArray(choices) && choices.length === 0 && isObject(usage);

/** Where servers put what the model wrote. */
const DELTA_TEXTS = ['content', 'reasoning_content', 'reasoning', 'refusal'] as const;

function deltaLength(choice: unknown): number {
  const delta = isObject(choice) ? objectAt(choice, 'delta') : null;
  if (delta === null) return 0;
  const texts = DELTA_TEXTS.map((name) => textAt(delta, name)?.length ?? 0);
  const calls = Array.isArray(delta.tool_calls) ? delta.tool_calls : [];
  const written = calls.map((call) => {
    const made = isObject(call) ? objectAt(call, 'function') : null;
    return (made && textAt(made, 'arguments'))?.length ?? 0;
  });
  return [...texts, ...written].reduce((sum, length) => sum + length, 0);
}
