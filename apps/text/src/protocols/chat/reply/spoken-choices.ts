import { isObject, type JsonObject } from '../../../wire/json-object.ts';

/**
 * A completion, or a chunk of one, whose server puts the text beside the message, as the older completions have it: with its
 * text where clients look for it. Any other is returned as it is.
 */
export function withSpokenChoices(completion: JsonObject, member: 'message' | 'delta'): JsonObject {
  const { choices } = completion;
  if (!Array.isArray(choices) || !choices.some(isBare)) return completion;
  return {
    ...completion,
    choices: choices.map((choice) => (isBare(choice) ? spoken(choice, member) : choice)),
  };
}

const isBare = (choice: unknown): choice is JsonObject & { readonly text: string } =>
  isObject(choice) &&
  typeof choice.text === 'string' &&
  (choice.message ?? null) === null &&
  (choice.delta ?? null) === null;

function spoken({ text, ...choice }: JsonObject & { readonly text: string }, member: string): JsonObject {
  return { ...choice, [member]: { ...(member === 'message' && { role: 'assistant' }), content: text } };
}
