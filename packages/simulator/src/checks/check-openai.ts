import { isGiven, isObject, type JsonObject } from '../json-value.ts';
import { invalidRequest, type ProviderError } from '../replies/provider-error.ts';
import type { Rule, Rules } from './rule.ts';

const KIND_NAMES = {
  decimal: 'a decimal',
  integer: 'an integer',
  string: 'a string',
  'one-of': 'a string',
  array: 'an array',
  boolean: 'a boolean',
  object: 'an object',
  any: 'a value',
} as const;

const typeName = (value: unknown): string => {
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
};

const isOfKind = (value: unknown, kind: Rule['kind']): boolean => {
  switch (kind) {
    case 'decimal':
      return typeof value === 'number';
    case 'integer':
      return Number.isInteger(value);
    case 'string':
    case 'one-of':
      return typeof value === 'string';
    case 'array':
      return Array.isArray(value);
    case 'boolean':
      return typeof value === 'boolean';
    case 'object':
      return isObject(value);
    default:
      return true;
  }
};

/** `'a', 'b', and 'c'` */
const quotedList = (values: readonly string[]): string => {
  const quoted = values.map((value) => `'${value}'`);
  if (quoted.length < 3) return quoted.join(' and ');
  return `${quoted.slice(0, -1).join(', ')}, and ${quoted.at(-1)}`;
};

export const missingParameter = (name: string): ProviderError =>
  invalidRequest(`Missing required parameter: '${name}'.`, 'missing_required_parameter', name);

export const unsupportedChoice = (name: string, value: string, values: readonly string[]): ProviderError =>
  invalidRequest(
    `Invalid value: '${value}'. Supported values are: ${quotedList(values)}.`,
    'invalid_value',
    name,
  );

const sizeError = (
  name: string,
  kind: 'string' | 'array',
  length: number,
  side: 'above' | 'below',
  bound: number,
): ProviderError => {
  const unit = kind === 'string' ? 'string' : 'array';
  const long = side === 'above' ? 'long' : 'short';
  const extreme = side === 'above' ? 'maximum' : 'minimum';
  return invalidRequest(
    `Invalid '${name}': ${unit} too ${long}. Expected ${kind === 'string' ? 'a string' : 'an array'} with ${extreme} length ${bound}, but got ${kind === 'string' ? 'a string' : 'an array'} with length ${length} instead.`,
    `${unit}_${side}_${side === 'above' ? 'max' : 'min'}_length`,
    name,
  );
};

const checkValue = (name: string, value: unknown, rule: Rule): void => {
  if (!isOfKind(value, rule.kind)) {
    throw invalidRequest(
      `Invalid type for '${name}': expected ${KIND_NAMES[rule.kind]}, but got ${typeName(value)} instead.`,
      'invalid_type',
      name,
    );
  }
  if (rule.kind === 'one-of' && typeof value === 'string' && !rule.values.includes(value)) {
    throw unsupportedChoice(name, value, rule.values);
  }
  if ((rule.kind === 'decimal' || rule.kind === 'integer') && typeof value === 'number') {
    const { kind, min = -Infinity, max = Infinity } = rule;
    const refuse = (side: string, extreme: string, sign: string, bound: number) =>
      invalidRequest(
        `Invalid '${name}': ${kind} ${side} ${extreme} value. Expected a value ${sign} ${bound}, but got ${value} instead.`,
        `${kind}_${side}_${side === 'above' ? 'max' : 'min'}_value`,
        name,
      );
    if (value > max) throw refuse('above', 'maximum', '<=', max);
    if (value < min) throw refuse('below', 'minimum', '>=', min);
  }
  if (rule.kind === 'string' || rule.kind === 'array') {
    const { kind, min = 0, max = Infinity } = rule;
    const length = Array.isArray(value) ? value.length : [...String(value)].length;
    if (length > max) throw sizeError(name, kind, length, 'above', max);
    if (length < min) throw sizeError(name, kind, length, 'below', min);
  }
};

/**
 * Checks the members of a body; `null` is absent.
 * @throws ProviderError 400 in OpenAI's words, for the first wrong member
 */
export const checkOpenAi = (body: JsonObject, rules: Rules, refusesUnknown = false): void => {
  for (const name in rules) {
    const rule = rules[name];
    const value = body[name];
    if (isGiven(value)) {
      if (rule) checkValue(name, value, rule);
    } else if (rule?.required) throw missingParameter(name);
  }
  if (!refusesUnknown) return;
  for (const name in body) {
    if (!(name in rules)) throw invalidRequest(`Unknown parameter: '${name}'.`, 'unknown_parameter', name);
  }
};
