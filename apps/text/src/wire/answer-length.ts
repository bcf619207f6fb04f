import { isObject, type JsonObject } from './json-object.ts';

/** The members of a whole reply that hold the answer, of every protocol. */
const ANSWERS = ['choices', 'output', 'content', 'candidates'] as const;

/** The members within it that hold what the model wrote. */
const TEXTS: ReadonlySet<string> = new Set([
  'content',
  'text',
  'refusal',
  'reasoning',
  'reasoning_content',
  'thinking',
  'arguments',
  'input',
  'args',
  'transcript',
]);

/** Those of them that some servers write as an object. */
const ARGUMENTS: ReadonlySet<string> = new Set(['arguments', 'input', 'args']);

/** About how many characters of text, reasoning and arguments a whole reply has, for an estimate of its tokens. */
export const answerLength = (reply: JsonObject): number =>
  ANSWERS.reduce((sum, name) => sum + lengthOf(reply[name], name === 'content'), 0);

/** The same of a part of a reply: a delta, a block, a list of items. */
export const writtenIn = (part: unknown): number => lengthOf(part, false);

function lengthOf(value: unknown, isText: boolean): number {
  if (typeof value === 'string') return isText ? value.length : 0;
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + lengthOf(one, isText), 0);
  if (!isObject(value)) return 0;
  let length = 0;
  for (const [name, member] of Object.entries(value))
    length +=
      ARGUMENTS.has(name) && isObject(member) ? writtenLength(member) : lengthOf(member, TEXTS.has(name));
  return length;
}

/** Of arguments that are an object; none is as if nothing were written. */
const writtenLength = (value: JsonObject): number =>
  Object.keys(value).length === 0 ? 0 : JSON.stringify(value).length;
