import { openaiError } from '@gateway/service-kit/error-response';
import { isObject, type JsonObject, numberAt, objectAt, parseObject, textAt } from '../json-object.ts';
import { type TokenUsage, usageBy, usageOfCompletion } from '../usage.ts';
import { Garbage, type StreamWatch } from './stream-watch.ts';

const readUsage = usageBy(usageOfCompletion);

/**
 * Watches a stream of Chat Completions. Servers differ in how they end it: with `[DONE]`, or by closing once every
 * answer has its `finish_reason`. Both are an end.
 */
export function createChatWatch(): StreamWatch {
  let id: string | null = null;
  let usage: TokenUsage | null = null;
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

  const onChunk = (chunk: JsonObject) => {
    id ??= textAt(chunk, 'id');
    usage = readUsage(chunk) ?? usage;
    const choices = Array.isArray(chunk.choices) ? chunk.choices : [];
    for (const choice of choices) outputLength += deltaLength(choice);
    for (const choice of choices) if (isObject(choice)) onChoice(choice);
    if ((chunk.error ?? null) === null) return;
    ended = true;
    const error = objectAt(chunk, 'error');
    reportedFailure = (error && (textAt(error, 'code') ?? textAt(error, 'type'))) ?? 'error';
  };

  return {
    event: (data) => {
      if (data === '[DONE]') {
        ended = true;
        return;
      }
      const chunk = parseObject(data);
      if (chunk === null) throw new Garbage();
      onChunk(chunk);
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
    // Clients throw on `error`; a `[DONE]` behind it would make the answer look whole to those that do not.
    breakOff: (error) => `data: ${JSON.stringify({ error: openaiError(error) })}\n\n`,
    keepAlive: () => ': keepalive\n\n',
  };
}

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
