import { isDeeperThan, nestedTooDeeply } from '@gateway/contracts/json/json-depth';
import { isObject } from '@gateway/contracts/json/json-object';
import { lookUp } from '@gateway/contracts/look-up';
import { TRANSCRIPTION_LIST_PARTS } from '@gateway/contracts/openai/transcriptions';
import type { FormField } from '@gateway/forms/read-form';

const LISTS = new Set<string>(TRANSCRIPTION_LIST_PARTS);
const BOOLEANS: Readonly<Record<string, boolean>> = { true: true, '1': true, false: false, '0': false };
/** `include[]`, `include[0]`, `chunking_strategy[type]`. */
const BRACKETED = /^([^[\]]+)\[([^[\]]*)\]$/;

/** Text parts that only mean "not given". They are not forwarded either. */
export const isAbsent = ([name, value]: FormField): boolean => value === '' && KNOWN.has(baseName(name));

const KNOWN = new Set<string>([
  ...LISTS,
  'model',
  'language',
  'prompt',
  'response_format',
  'temperature',
  'stream',
  'chunking_strategy',
]);

const baseName = (name: string): string => BRACKETED.exec(name)?.[1] ?? name;

/** A part's name as providers know it: those that may be repeated end with `[]`, however the caller wrote them. */
export const forwardedName = (name: string): string =>
  LISTS.has(baseName(name)) ? `${baseName(name)}[]` : name;

/**
 * The form's text parts as one object, as the request would be in JSON: parts that may be repeated as arrays, numbers and
 * booleans as such. What is not a number stays a text, which the schema refuses; a part that may not be repeated but
 * is becomes an array, likewise.
 *
 * @throws {GatewayError} for JSON in a part that has more levels than `maxJsonDepth`
 */
export function gatherParts(parts: readonly FormField[], maxJsonDepth: number): Record<string, unknown> {
  const gathered = new Map<string, unknown>();
  for (const part of parts) {
    if (isAbsent(part)) continue;
    const [name, value] = part;
    const [, base = name, key] = BRACKETED.exec(name) ?? [];
    const before = gathered.get(base);
    if (LISTS.has(base)) gathered.set(base, [...(Array.isArray(before) ? before : []), value]);
    else if (key !== undefined && key !== '')
      gathered.set(base, { ...(isObject(before) ? before : {}), [key]: numberIn(value) });
    else gathered.set(base, before === undefined ? parsedValue(base, value, maxJsonDepth) : [before, value]);
  }
  return Object.fromEntries(gathered);
}

function parsedValue(name: string, value: string, maxJsonDepth: number): unknown {
  if (name === 'temperature') return numberIn(value);
  if (name === 'stream') return lookUp(BOOLEANS, value.toLowerCase()) ?? value;
  if (name === 'chunking_strategy' && value.startsWith('{')) return jsonIn(value, maxJsonDepth);
  return value;
}

/** Decimal notation only: `Number` alone would take '', ' 1 ' and '0x1'. */
const numberIn = (value: string): unknown => (/^-?\d*\.?\d+(e-?\d+)?$/i.test(value) ? Number(value) : value);

function jsonIn(value: string, maxDepth: number): unknown {
  if (isDeeperThan(value, maxDepth)) throw nestedTooDeeply();
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
