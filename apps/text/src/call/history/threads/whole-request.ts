import { isObject, type JsonObject } from '../../../wire/json-object.ts';

/** What of a thread is put before a later turn, parsed. */
export interface ThreadContext {
  /** The messages so far, with the reply that is continued as the last of them. */
  readonly messages: readonly unknown[];
  /** Null where the thread was begun without. */
  readonly system: unknown;
  readonly tools: unknown;
}

/** As many `cache_control` marks as one request may have. */
const MAX_CACHE_MARKS = 4;

/** A later turn of a thread as the request that the same turn would be without a thread. */
export function wholeRequest(turn: JsonObject, { messages, system, tools }: ThreadContext): JsonObject {
  const { thread: _, ...own } = turn;
  const added = Array.isArray(turn.messages) ? turn.messages : [];
  const whole: JsonObject = {
    ...own,
    ...(isNothing(own.system) && !isNothing(system) && { system }),
    ...(isNothing(own.tools) && !isNothing(tools) && { tools }),
  };
  const kept =
    MAX_CACHE_MARKS -
    countMarks([whole.system, whole.tools, added]) -
    (isNothing(whole.cache_control) ? 0 : 1);
  return { ...whole, messages: [...withNewestMarks(messages, Math.max(kept, 0)), ...added] };
}

/** A request of a thread's first turn, without the thread. */
export const withoutThread = ({ thread: _, ...body }: JsonObject): JsonObject => body;

const isNothing = (value: unknown): boolean => (value ?? null) === null;

/**
 * The members that hold blocks with marks. Whatever else there is (a tool's input, a schema) is the caller's own and
 * not looked into.
 */
const HOLDING_BLOCKS = ['content', 'source', 'tool', 'definition'] as const;

/** Marks in a list of blocks, tools or messages, or in one of them. */
function countMarks(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, entry) => sum + countMarks(entry), 0);
  if (!isObject(value)) return 0;
  const own = isNothing(value.cache_control) ? 0 : 1;
  return HOLDING_BLOCKS.reduce((sum, name) => sum + countMarks(value[name]), own);
}

/** Every turn may have had its own marks; the newest are worth most. */
function withNewestMarks(messages: readonly unknown[], count: number): readonly unknown[] {
  let left = count;
  const shown = messages.toReversed().map((message) => {
    const marks = countMarks(message);
    if (marks <= left) {
      left -= marks;
      return message;
    }
    left = 0;
    return withoutMarks(message);
  });
  return shown.reverse();
}

function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (!isObject(value)) return value;
  const { cache_control: _, ...rest } = value;
  const inner = HOLDING_BLOCKS.flatMap((name) => (name in rest ? [[name, withoutMarks(rest[name])]] : []));
  return { ...rest, ...Object.fromEntries(inner) };
}
