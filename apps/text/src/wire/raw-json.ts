import { boundedJson } from '@gateway/contracts/json/json-depth';
import { hasChangingArguments, replaceOutsideArguments } from './argument-numbers.ts';

/**
 * JSON whose numbers survive. JavaScript's numbers hold 53 bits; a tool argument such as a snowflake id is longer, and
 * `1e400` would even become null. Such numbers stay as their source text (`JSON.rawJSON`), which `JSON.stringify`
 * writes back as it was.
 */
declare global {
  interface JSON {
    parse(
      text: string,
      reviver: (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown;
    rawJSON(text: string): object;
    isRawJSON(value: unknown): boolean;
  }
}

/** Nothing shorter than 16 digits and no small exponent can lose precision. */
const MAY_LOSE_PRECISION = /\d[\d.]{15}|\d[eE]\+?\d{2}/;

/** The same of JSON, where a number follows one of these signs: ids in texts are full of digits. */
const MAY_HOLD_LONG_NUMBER = /(?:^|[[:,])\s*-?(?:\d[\d.]{15}|[\d.]+[eE]\+?\d{2})/;

/** Whether JSON holds what may be a number that JavaScript would change. */
export const mayLosePrecision = (text: string): boolean =>
  MAY_HOLD_LONG_NUMBER.test(text) || hasChangingArguments(text);

const keepSource = (_key: string, value: unknown, context: { readonly source?: string }): unknown =>
  typeof value === 'number' && context.source !== undefined && String(value) !== context.source
    ? JSON.rawJSON(context.source)
    : value;

const keepLongNumbers = (key: string, value: unknown, context: { readonly source?: string }): unknown =>
  typeof value === 'number' && MAY_LOSE_PRECISION.test(context.source ?? '')
    ? keepSource(key, value, context)
    : value;

/** A kept number as `keepLongNumbers` has it. */
const unlessLong = (kept: object): unknown => {
  const source = JSON.stringify(kept);
  return MAY_LOSE_PRECISION.test(source) ? kept : Number(source);
};

/**
 * Parses a body. Numbers that JavaScript can hold are numbers; only those that it would change stay text, and all of a call's
 * arguments stay as they were written. @throws SyntaxError
 */
export function parseBody(text: string): unknown {
  if (hasChangingArguments(text)) return replaceOutsideArguments(JSON.parse(text, keepSource), unlessLong);
  return MAY_HOLD_LONG_NUMBER.test(text) ? JSON.parse(text, keepLongNumbers) : JSON.parse(text);
}

/** Whether a value is a JSON object: not null, no array, no preserved number. */
export const isJsonObject = (value: unknown): value is { [member: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);

/** Parses JSON with every number as it was written. @throws SyntaxError */
export const parseExactly = (text: string): unknown => JSON.parse(boundedJson(text), keepSource);

/**
 * Reads a tool call's arguments as the object that the Messages protocol wants, every number as it was written.
 * Empty text is an empty object; null where the text is no JSON object.
 */
export function parseArguments(text: string): { [member: string]: unknown } | null {
  if (text.trim() === '') return {};
  try {
    const value = parseExactly(text);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
