import { dataOf, hasEmptyData } from '@gateway/contracts/event-stream/frame-data';
import { BLANK_LINE, dataFrame } from '@gateway/contracts/event-stream/sse-frames';
import { endsAnswer } from '@gateway/contracts/finish-words';
import { reportsFailure } from '@gateway/upstream/first-output/reported-error';
import { answerLength } from '../../../wire/answer-length.ts';
import { isObject, type JsonObject, numberAt, objectAt, textAt } from '../../../wire/json-object.ts';
import { failureWordOf } from '../../../wire/openai-errors.ts';
import type { EventCollector } from '../../../wire/stream/event-collector.ts';
import { readEvent, type StreamReader } from '../../../wire/stream/stream-reader.ts';
import { laterUsage, type Usage } from '../../../wire/usage.ts';
import { errorFrame } from '../reply/errors.ts';
import { readUsage } from '../reply/usage.ts';

/** Reads a stream on its way to a caller of the same protocol. It ends by closing, once every candidate has its end. */
export function createGeminiStreamReader(): StreamReader {
  let usage: Usage | null = null;
  let model: string | null = null;
  let outputLength = 0;
  let reportedFailure: string | null = null;
  let isBlocked = false;
  const begun = new Set<number>();
  const finished = new Map<number, unknown>();
  const isOver = () => isBlocked || (finished.size > 0 && finished.size === begun.size);
  return {
    frame: (frame) => {
      const data = dataOf(frame);
      if (data === null) return hasEmptyData(frame) ? 'hidden' : 'event';
      const reply = readEvent(data);
      if (reply === null) return 'hidden';
      model ??= textAt(reply, 'modelVersion');
      usage = laterUsage(usage, readUsage(reply));
      outputLength += answerLength(reply);
      if (reportsFailure(reply)) {
        reportedFailure = failureWordOf(data);
        return 'failed';
      }
      if (objectAt(reply, 'promptFeedback')?.blockReason) isBlocked = true;
      for (const candidate of candidatesOf(reply)) {
        const index = numberAt(candidate, 'index') ?? 0;
        begun.add(index);
        if (endsAnswer(candidate.finishReason)) finished.set(index, candidate.finishReason);
      }
      return 'delta';
    },
    id: null,
    answered: () => ({ model, ends: isBlocked ? ['content_filter'] : [...finished.values()] }),
    get usage() {
      return usage;
    },
    get outputLength() {
      return outputLength;
    },
    get ended() {
      return isOver();
    },
    get mayEnd() {
      return isOver() || reportedFailure !== null;
    },
    get reportedFailure() {
      return reportedFailure;
    },
    get rest() {
      if (reportedFailure !== null) return 'read-off';
      return isOver() ? 'reporting' : 'wanted';
    },
    owed: '',
    breakOff: (error) => [errorFrame(error)],
    keepAlive: () => BLANK_LINE,
  };
}

const candidatesOf = ({ candidates }: JsonObject): readonly JsonObject[] =>
  Array.isArray(candidates) ? candidates.filter(isObject) : [];

/** A finished response as a stream: one frame. Null where it is none. */
export const replyFrames = (reply: JsonObject): readonly string[] | null =>
  candidatesOf(reply).length === 0 && !isObject(reply.promptFeedback) ? null : [dataFrame(reply)];

/** Puts the responses of a stream together to one: the parts of each candidate, and of all else the last that came. */
export function createResponseCollector(): EventCollector {
  let whole: JsonObject | null = null;
  const byIndex = new Map<number, { last: JsonObject; content: JsonObject; parts: unknown[] }>();
  return {
    take(event) {
      const { candidates: _, ...members } = event;
      whole = { ...whole, ...members };
      for (const candidate of candidatesOf(event)) {
        const index = numberAt(candidate, 'index') ?? 0;
        const known = byIndex.get(index) ?? { last: {}, content: {}, parts: [] };
        const { parts, ...content } = objectAt(candidate, 'content') ?? {};
        known.content = { ...known.content, ...content };
        known.last = { ...known.last, ...candidate };
        for (const part of Array.isArray(parts) ? parts : []) known.parts.push(part);
        byIndex.set(index, known);
      }
    },
    body: () =>
      whole && {
        ...whole,
        candidates: [...byIndex.values()].map(({ last, content, parts }) => ({
          ...last,
          content: { ...content, parts },
        })),
      },
  };
}
