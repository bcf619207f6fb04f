import { isObject, type JsonObject, objectOf } from '../../../wire/json-object.ts';
import type { EventCollector } from '../../../wire/stream/event-collector.ts';

/** Members of a delta that come whole, however often. */
const WHOLE: ReadonlySet<string> = new Set(['role', 'id', 'type', 'index', 'name']);

/** The chunks of a completion as one: texts are joined, calls are put together by their number. */
export function createCompletionCollector(): EventCollector {
  let members: JsonObject | null = null;
  const choices = new Map<unknown, JsonObject>();
  return {
    take: ({ choices: pieces, ...chunk }) => {
      members = { ...members, ...named(chunk) };
      for (const piece of Array.isArray(pieces) ? pieces.filter(isObject) : []) {
        const { delta, ...choice } = piece;
        const index = piece.index ?? 0;
        const { message, ...known } = choices.get(index) ?? {};
        const joined = joinedDelta(objectOf(message), objectOf(delta));
        choices.set(index, { index, ...known, ...named(choice), message: joined });
      }
    },
    body: () =>
      members && {
        ...members,
        object: 'chat.completion',
        choices: [...choices.values()].map(({ message, ...choice }) => ({
          ...choice,
          message: { role: 'assistant', content: null, ...withoutNumbers(objectOf(message)) },
        })),
      },
  };
}

/** Without what is null: a later chunk takes nothing back. */
const named = (members: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));

function joinedDelta(earlier: JsonObject, later: JsonObject): JsonObject {
  const joined: Record<string, unknown> = { ...earlier };
  for (const [name, value] of Object.entries(named(later)))
    joined[name] = joinedMember(name, joined[name], value);
  return joined;
}

function joinedMember(name: string, earlier: unknown, later: unknown): unknown {
  if (name === 'tool_calls' && Array.isArray(later)) return joinedCalls(earlier, later);
  if (WHOLE.has(name)) return later === '' ? earlier : later;
  if (typeof earlier === 'string' && typeof later === 'string') return earlier + later;
  if (Array.isArray(earlier) && Array.isArray(later)) return [...earlier, ...later];
  return isObject(earlier) && isObject(later) ? joinedDelta(earlier, later) : later;
}

function joinedCalls(earlier: unknown, later: readonly unknown[]): readonly JsonObject[] {
  const calls: JsonObject[] = Array.isArray(earlier) ? earlier.filter(isObject) : [];
  for (const piece of later.filter(isObject)) {
    const index = piece.index ?? calls.length;
    const at = calls.findIndex((call) => call.index === index);
    if (at < 0) calls.push({ index, ...named(piece) });
    else calls[at] = joinedDelta(calls[at] ?? {}, piece);
  }
  return calls;
}

/** A whole message counts its calls by their place. */
function withoutNumbers({ tool_calls: calls, ...message }: JsonObject): JsonObject {
  if (!Array.isArray(calls)) return message;
  return { ...message, tool_calls: calls.filter(isObject).map(({ index: _, ...call }) => call) };
}
