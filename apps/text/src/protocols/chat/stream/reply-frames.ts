import { DONE_FRAME, dataFrame } from '@gateway/contracts/event-stream/sse-frames';
import { isObject, type JsonObject } from '../../../wire/json-object.ts';

/** A finished completion as a stream with all its members; null for anything else. */
export function replyFrames(
  { choices, usage, ...members }: JsonObject,
  { hidesUsage }: { readonly hidesUsage: boolean },
): readonly string[] | null {
  if (!Array.isArray(choices)) return null;
  const chunk = (more: JsonObject) => dataFrame({ ...members, object: 'chat.completion.chunk', ...more });
  const answers = choices
    .filter(isObject)
    .flatMap(({ message, finish_reason, ...choice }) => [
      chunk({ choices: [{ ...choice, delta: deltaOf(message), finish_reason: null }] }),
      chunk({ choices: [{ index: choice.index ?? 0, delta: {}, finish_reason }] }),
    ]);
  const usageChunks = isObject(usage) && !hidesUsage ? [chunk({ choices: [], usage })] : [];
  return [...answers, ...usageChunks, DONE_FRAME];
}

/** In a chunk tool calls have a number, by which their pieces would be put together. */
function deltaOf(message: unknown): JsonObject {
  if (!isObject(message)) return {};
  const { tool_calls: calls, ...rest } = message;
  if (!Array.isArray(calls)) return rest;
  return { ...rest, tool_calls: calls.filter(isObject).map((call, index) => ({ index, ...call })) };
}
