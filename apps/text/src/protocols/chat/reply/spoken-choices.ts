import { isObject, type JsonObject } from '../../../wire/json-object.ts';

type Member = 'message' | 'delta';

/**
 * A completion, or a chunk of one, as its protocol has it, where its server writes what it says in another form: beside the message, as
 * the older completions have it, or in parts. Any other is returned as it is.
 */
export const withSpokenChoices = (completion: JsonObject, member: Member): JsonObject =>
  mapped(completion, (choice) => spokenChoice(choice, member));

/** The same for clients: arguments that are an object are a text as well. `completion` is parsed with `parseBody`. */
export const withOwnChoices = (completion: JsonObject, member: Member): JsonObject =>
  mapped(completion, (choice) => withTextArguments(spokenChoice(choice, member), member));

function mapped(completion: JsonObject, map: (choice: unknown) => unknown): JsonObject {
  const { choices } = completion;
  if (!Array.isArray(choices)) return completion;
  const own = choices.map(map);
  return own.some((choice, index) => choice !== choices[index])
    ? { ...completion, choices: own }
    : completion;
}

function spokenChoice(choice: unknown, member: Member): unknown {
  if (!isObject(choice)) return choice;
  const said = choice[member];
  if (isObject(said)) {
    const content = textOf(said.content);
    return content === null ? choice : { ...choice, [member]: { ...said, content } };
  }
  const { text, ...rest } = choice;
  if (typeof text !== 'string' || (choice.message ?? choice.delta ?? null) !== null) return choice;
  return { ...rest, [member]: { ...(member === 'message' && { role: 'assistant' }), content: text } };
}

function withTextArguments(choice: unknown, member: Member): unknown {
  const said = isObject(choice) ? choice[member] : null;
  const calls = isObject(said) ? said.tool_calls : null;
  if (!isObject(choice) || !isObject(said) || !Array.isArray(calls) || !calls.some(hasObject)) return choice;
  const written = calls.map((call) => (hasObject(call) ? withText(call) : call));
  return { ...choice, [member]: { ...said, tool_calls: written } };
}

/** Of a content that is parts, or one part, of text and nothing else; null for any other. */
function textOf(content: unknown): string | null {
  if (!isObject(content) && !Array.isArray(content)) return null;
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content];
  return parts.length > 0 && parts.every(isText) ? parts.map(({ text }) => text).join('') : null;
}

const isText = (part: unknown): part is { readonly text: string } =>
  isObject(part) && typeof part.text === 'string' && (part.type ?? 'text') === 'text';

type CallWithObject = JsonObject & { readonly function: JsonObject };

const hasObject = (call: unknown): call is CallWithObject =>
  isObject(call) && isObject(call.function) && isObject(call.function.arguments);

const withText = (call: CallWithObject): JsonObject => ({
  ...call,
  function: { ...call.function, arguments: JSON.stringify(call.function.arguments) },
});
