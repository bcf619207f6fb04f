import { isObject, type JsonObject, numberAt, textAt } from '../../../wire/json-object.ts';
import type { EventCollector } from '../../../wire/stream/event-collector.ts';

/** The chunks of a completion of a bare prompt as one: the texts of each choice are joined. */
export function createTextCollector(): EventCollector {
  let members: JsonObject | null = null;
  const choices = new Map<number, JsonObject>();
  return {
    take: ({ choices: pieces, ...chunk }) => {
      members = { ...members, ...given(chunk) };
      for (const piece of Array.isArray(pieces) ? pieces.filter(isObject) : []) {
        const index = numberAt(piece, 'index') ?? 0;
        const text = (textAt(choices.get(index) ?? {}, 'text') ?? '') + (textAt(piece, 'text') ?? '');
        choices.set(index, { ...choices.get(index), ...given(piece), text });
      }
    },
    body: () =>
      members && {
        ...members,
        choices: [...choices].sort(([one], [other]) => one - other).map(([, choice]) => choice),
      },
  };
}

/** The members that have a value. */
const given = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
