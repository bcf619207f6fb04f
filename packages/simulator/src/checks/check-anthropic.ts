import { isObject, type JsonObject } from '../json-value.ts';
import { invalidMessages } from '../replies/provider-error.ts';
import type { Rule, Rules } from './rule.ts';

const TYPE_SENTENCES: Partial<Record<Rule['kind'], string>> = {
  decimal: 'Input should be a valid number',
  integer: 'Input should be a valid integer',
  string: 'Input should be a valid string',
  array: 'Input should be a valid list',
  boolean: 'Input should be a valid boolean',
  object: 'Input should be a valid dictionary',
};

const isOfKind = (value: unknown, kind: Rule['kind']): boolean => {
  if (kind === 'decimal') return typeof value === 'number';
  if (kind === 'integer') return Number.isInteger(value);
  if (kind === 'array') return Array.isArray(value);
  if (kind === 'object') return isObject(value);
  return kind === 'string' || kind === 'boolean' ? typeof value === kind : true;
};

/** The mistake in a value, as a sentence; null if there is none. */
const complaint = (value: unknown, rule: Rule): string | null => {
  if (!isOfKind(value, rule.kind)) return TYPE_SENTENCES[rule.kind] ?? 'Input is not valid';
  if (rule.kind === 'one-of' && !rule.values.some((allowed) => allowed === value)) {
    const quoted = rule.values.map((allowed) => `'${allowed}'`);
    return `Input should be ${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
  }
  if (typeof value === 'number' && (rule.kind === 'decimal' || rule.kind === 'integer')) {
    const { min = -Infinity, max = Infinity } = rule;
    if (value > max) return `Input should be less than or equal to ${max}`;
    if (value < min) return `Input should be greater than or equal to ${min}`;
  }
  if (typeof value === 'string' && rule.kind === 'string') {
    const { min = 0, max = Infinity } = rule;
    if (value.length > max) return `String should have at most ${max} characters`;
    if (value.length < min) return `String should have at least ${min} character`;
  }
  return null;
};

/**
 * Checks the members of a body. `prefix` is the path of the body itself, with its dot.
 * @throws ProviderError 400 in Anthropic's words, for the first wrong member
 */
export const checkAnthropic = (body: JsonObject, rules: Rules, refusesUnknown = false, prefix = ''): void => {
  for (const name in rules) {
    const rule = rules[name];
    if (!rule) continue;
    const value = body[name];
    if (value === undefined) {
      if (rule.required) throw invalidMessages(`${prefix}${name}: Field required`);
    } else if (value !== null || rule.required) {
      const sentence = complaint(value, rule);
      if (sentence) throw invalidMessages(`${prefix}${name}: ${sentence}`);
    }
  }
  if (!refusesUnknown) return;
  for (const name in body) {
    if (!(name in rules)) throw invalidMessages(`${prefix}${name}: Extra inputs are not permitted`);
  }
};
