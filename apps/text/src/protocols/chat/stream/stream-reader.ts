import { dataOf, hasEmptyData } from '@gateway/contracts/event-stream/frame-data';
import type { Frame } from '@gateway/contracts/event-stream/frame-reader';
import { COMMENT_FRAME, DONE_FRAME } from '@gateway/contracts/event-stream/sse-frames';
import { endsAnswer } from '@gateway/contracts/finish-words';
import { reportsFailure } from '@gateway/upstream/first-output/reported-error';
import { writtenIn } from '../../../wire/answer-length.ts';
import { isObject, type JsonObject, numberAt, objectAt, textAt } from '../../../wire/json-object.ts';
import { failureWordOf } from '../../../wire/openai-errors.ts';
import {
  endOfString,
  type FrameKind,
  findString,
  hasAt,
  isErrorEvent,
  readEvent,
  type StreamReader,
} from '../../../wire/stream/stream-reader.ts';
import { errorFrame } from '../reply/errors.ts';
import { createUsageReport, isUsageChunk } from '../reply/usage.ts';
import { WholeMessages } from './whole-messages.ts';

/**
 * A chunk that adds text to one answer and has nothing else. Most chunks of a stream differ from the one before in that
 * text alone, so that they need not be parsed: their bytes up to it, and after it to the end of the choices, are the same.
 */
interface TextChunk {
  readonly index: number;
  readonly before: string;
  readonly after: string;
  readonly rest: string;
}
const CONTENT = '"content":"';
const END_OF_CHOICES = ']';
/** What may follow the choices and must not be overlooked. */
const MAY_MATTER = ['"usage":{', '"usage": {', '"error"', '"choices"'] as const;

interface ChatStreamOptions {
  /** The caller does not want the chunk that holds nothing but usage: it is read and not shown. */
  readonly hidesUsage?: boolean;
  /** How many were requested (`n`). */
  readonly answers?: number;
}

/**
 * Reads a stream of Chat Completions. Servers differ in how they end it: with `[DONE]`, or by closing once every
 * answer has its `finish_reason`. Both are an end.
 */
export function createChatStreamReader({
  hidesUsage = false,
  answers = 1,
}: ChatStreamOptions = {}): StreamReader {
  let id: string | null = null;
  let model: string | null = null;
  const report = createUsageReport();
  let outputLength = 0;
  /** Of whole messages, which servers send instead of deltas or beside the last one. */
  let wholeLength = 0;
  /** Answers that have begun, and those of them that have ended. What follows an end, as usage may, begins none again. */
  const begun = new Set<number>();
  const finished = new Map<number, unknown>();
  let reportedFailure: string | null = null;
  let isDone = false;
  let hasLastUsage = false;
  const messages = new WholeMessages();

  const allFinished = () => finished.size > 0 && finished.size === begun.size;
  const isOver = () => isDone || reportedFailure !== null || allFinished();

  const onChoice = (choice: JsonObject) => {
    const index = numberAt(choice, 'index') ?? 0;
    begun.add(index);
    if (endsAnswer(choice.finish_reason)) finished.set(index, choice.finish_reason);
  };

  /** The last chunk of that kind that was parsed. */
  let known: TextChunk | null = null;

  /** Whether a frame is another chunk of that kind. */
  const passesUnread = (text: string): boolean => {
    if (known === null || !hasAt(text, 0, known.before)) return false;
    const start = known.before.length;
    const end = endOfString(text, start);
    if (end < 0 || !hasAt(text, end, known.after)) return false;
    const rest = text.slice(end + known.after.length);
    if (rest !== known.rest && MAY_MATTER.some((name) => rest.includes(name))) return false;
    begun.add(known.index);
    outputLength += end - start;
    return true;
  };

  const onChunk = (chunk: JsonObject, data: string, frame: Frame): FrameKind => {
    id ??= textAt(chunk, 'id');
    model ??= textAt(chunk, 'model');
    report.add(chunk);
    messages.note(chunk);
    const choices = Array.isArray(chunk.choices) ? chunk.choices : [];
    for (const choice of choices) {
      if (!isObject(choice)) continue;
      outputLength += writtenIn(choice.delta);
      wholeLength += writtenIn(choice.message);
      if (choice.delta === undefined && typeof choice.text === 'string') outputLength += choice.text.length;
    }
    if (reportsFailure(chunk) || isErrorEvent(frame)) {
      reportedFailure = failureWordOf(data);
      return isObject(chunk.error) ? 'event' : 'failed';
    }
    for (const choice of choices) if (isObject(choice)) onChoice(choice);
    if (!isUsageChunk(chunk)) return 'event';
    hasLastUsage = allFinished();
    return hidesUsage ? 'hidden' : 'event';
  };

  return {
    frame: (frame) => {
      const { latin1 } = frame;
      if (passesUnread(latin1)) return 'delta';
      const data = dataOf(frame);
      if (data === null) return hasEmptyData(frame) ? 'hidden' : 'event';
      const chunk = readEvent(data);
      if (chunk !== null) {
        known = textChunkOf(chunk, latin1) ?? known;
        return onChunk(chunk, data, frame);
      }
      isDone = true;
      return 'event';
    },
    get id() {
      return id;
    },
    answered: () => ({ model, ends: [...finished.values()] }),
    get usage() {
      return report.usageAtTier;
    },
    get outputLength() {
      return Math.max(outputLength, wholeLength);
    },
    get ended() {
      return isOver();
    },
    get mayEnd() {
      return isOver();
    },
    get reportedFailure() {
      return reportedFailure;
    },
    get rest() {
      if (isDone || reportedFailure !== null) return 'read-off';
      if (hasLastUsage) return 'ending';
      return finished.size === answers && allFinished() ? 'reporting' : 'wanted';
    },
    get owed() {
      return isDone || reportedFailure !== null ? '' : DONE_FRAME;
    },
    breakOff: (error) => [errorFrame(error)],
    asDeltas: (chunk) => messages.asDeltas(chunk),
    keepAlive: () => COMMENT_FRAME,
  };
}

function textChunkOf({ id, choices, error }: JsonObject, text: string): TextChunk | null {
  const [choice] = Array.isArray(choices) && choices.length === 1 ? choices : [];
  if (
    typeof id !== 'string' ||
    !isObject(choice) ||
    endsAnswer(choice.finish_reason) ||
    (error ?? null) !== null
  )
    return null;
  const delta = objectAt(choice, 'delta');
  const content = findString(text, CONTENT);
  if (delta === null || content === null || Object.keys(delta).some((name) => name !== 'content'))
    return null;
  const end = text.indexOf(END_OF_CHOICES, content.end);
  if (end < 0 || text.slice(content.end, end).includes('[')) return null;
  return {
    index: numberAt(choice, 'index') ?? 0,
    before: text.slice(0, content.start),
    after: text.slice(content.end, end + 1),
    rest: text.slice(end + 1),
  };
}
