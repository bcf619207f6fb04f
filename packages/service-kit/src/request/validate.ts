import { GatewayError } from '@gateway/contracts/gateway-error';
import { readSchema } from '@gateway/contracts/json/read-schema';
import { DECIMAL, INTEGER, type Problem } from '@gateway/contracts/wire-types';
import type { z } from 'zod';
import { openaiPath } from '../error-response.ts';

type Path = (string | number)[];
type Issue = z.core.$ZodIssue;

/**
 * Checks a request, or its part at a path, against its wire schema. Errors have the words that users of the official
 * clients know.
 *
 * @throws {GatewayError} for the first mistake, with its path
 */
export function validate<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  at: readonly (string | number)[] = [],
): z.infer<Schema> {
  const read = readSchema(schema, value);
  if (read !== undefined) return read.data;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  if (issue === undefined) throw new Error('a failed parse without an issue');
  throw toError(issue, [], { value, at });
}

/** The value that was checked, and its path in the request. */
interface Root {
  readonly value: unknown;
  readonly at: readonly (string | number)[];
}

function toError(issue: Issue, base: Path, root: Root): GatewayError {
  const inner = [...base, ...issue.path.filter((part) => typeof part !== 'symbol')];
  const types = issue.code === 'invalid_union' ? rootTypes(issue.errors) : [];
  if (issue.code === 'invalid_union' && types.length === 0) {
    const nearest = nearestBranch(issue.errors);
    if (nearest !== undefined) return toError(nearest, inner, root);
  }
  const path = [...root.at, ...inner];
  const found = valueAt(root.value, inner);
  const isOfNoType = types.length > 0 && found !== undefined;
  const description = isOfNoType ? wrongType(openaiPath(path), types, found) : describe(issue, path, found);
  const { code, openai, anthropic, at = path } = description;
  return new GatewayError(code, { path: at, message: { openai, anthropic } });
}

/** The types of a union, if the value has another type; empty if something else is wrong with it. */
function rootTypes(branches: readonly (readonly Issue[])[]): string[] {
  const types = branches.flatMap(([first]) =>
    first?.code === 'invalid_type' && first.path.length === 0 ? [first.expected] : [],
  );
  return types.length === branches.length ? types : [];
}

/** Takes the branch of a union that matched most of the value as the intended one. */
function nearestBranch(branches: readonly (readonly Issue[])[]): Issue | undefined {
  const firsts = branches.flatMap((issues) => (issues[0] === undefined ? [] : [issues[0]]));
  const depth = (issue: Issue): number =>
    issue.path.length + (issue.code === 'invalid_type' && issue.path.length === 0 ? -1 : 0);
  return firsts.toSorted((a, b) => depth(b) - depth(a))[0];
}

interface Description extends Problem {
  /** The path, if it is not the issue's own. */
  readonly at?: Path;
}

function describe(issue: Issue, path: Path, found: unknown): Description {
  const name = openaiPath(path);
  if (found === undefined && issue.code !== 'custom' && path.length > 0) return missing(name);
  switch (issue.code) {
    case 'invalid_type':
      return wrongType(name, [issue.message === INTEGER ? 'int' : issue.expected], found);
    case 'invalid_value':
      return notOneOf(found, issue.values.map(String));
    case 'invalid_union':
      return notOneOf(
        found,
        'options' in issue && Array.isArray(issue.options) ? issue.options.map(String) : [],
      );
    case 'too_big':
    case 'too_small':
      return outOfRange(issue, name, found);
    case 'unrecognized_keys':
      return unknownParameter(path, issue.keys[0] ?? '');
    case 'custom':
      return ownProblem(issue.params, name);
    default:
      return {
        code: 'invalid_value',
        openai: `Invalid value for '${name}': ${issue.message}.`,
        anthropic: issue.message,
      };
  }
}

const missing = (name: string): Description => ({
  code: 'missing_required_parameter',
  openai: `Missing required parameter: '${name}'.`,
  anthropic: 'Field required',
});

/** Each dialect's words for zod's type names. */
const TYPE_NAMES: Record<string, readonly [openai: string, anthropic: string]> = {
  string: ['a string', 'Input should be a valid string'],
  number: ['a decimal', 'Input should be a valid number'],
  int: ['an integer', 'Input should be a valid integer'],
  boolean: ['a boolean', 'Input should be a valid boolean'],
  array: ['an array', 'Input should be a valid list'],
  object: ['an object', 'Input should be an object'],
  record: ['an object', 'Input should be an object'],
};

/** Anthropic names the first of several types only. */
function wrongType(name: string, expected: readonly string[], found: unknown): Description {
  const names = expected.map(
    (type) => TYPE_NAMES[type] ?? ([`a value of type ${type}`, `Input should be a valid ${type}`] as const),
  );
  const kinds = listed([...new Set(names.map(([kind]) => kind))], 'or', '');
  const openai = expected.length > 1 ? `one of ${kinds}` : kinds;
  const anthropic = names[0]?.[1] ?? 'Input is invalid';
  const subject = name === '' ? 'the request body' : `'${name}'`;
  return {
    code: 'invalid_type',
    openai: `Invalid type for ${subject}: expected ${openai}, but got ${typeNameOf(found)} instead.`,
    anthropic,
  };
}

function typeNameOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal';
  return TYPE_NAMES[typeof value]?.[0] ?? typeof value;
}

/** An error quotes at most this much of a value. */
const MAX_SHOWN = 64;

function notOneOf(found: unknown, values: readonly string[]): Description {
  const shown = typeof found === 'string' ? found : JSON.stringify(found);
  const quoted = values.map((value) => `'${value}'`);
  return {
    code: 'invalid_value',
    openai: `Invalid value: '${shown.slice(0, MAX_SHOWN)}'. Supported values are: ${listed(quoted, 'and', ',')}.`,
    anthropic: `Input should be ${listed(quoted, 'or', '')}`,
  };
}

/** `'a', 'b', and 'c'`, with or without the comma before the last. */
export function listed(items: readonly string[], word: 'and' | 'or', lastComma: ',' | ''): string {
  const last = items.at(-1) ?? '';
  if (items.length < 2) return last;
  const comma = items.length > 2 ? lastComma : '';
  return `${items.slice(0, -1).join(', ')}${comma} ${word} ${last}`;
}

function outOfRange(
  issue: z.core.$ZodIssueTooBig | z.core.$ZodIssueTooSmall,
  name: string,
  found: unknown,
): Description {
  const above = issue.code === 'too_big';
  const bound = Number(above ? issue.maximum : issue.minimum);
  if (issue.origin === 'string')
    return stringLength(name, above, bound, typeof found === 'string' ? found.length : 0);
  if (issue.origin === 'array')
    return arrayLength(name, above, bound, Array.isArray(found) ? found.length : 0);
  const kind = issue.message === DECIMAL ? 'decimal' : 'integer';
  const side = above ? 'above maximum' : 'below minimum';
  const [sign, words] = above ? ['<=', 'less than or equal to'] : ['>=', 'greater than or equal to'];
  return {
    code: above ? `${kind}_above_max_value` : `${kind}_below_min_value`,
    openai: `Invalid '${name}': ${kind} ${side} value. Expected a value ${sign} ${bound}, but got ${String(found)} instead.`,
    anthropic: `Input should be ${words} ${bound}`,
  };
}

function stringLength(name: string, above: boolean, bound: number, length: number): Description {
  const plural = bound === 1 ? 'character' : 'characters';
  return above
    ? {
        code: 'string_above_max_length',
        openai: `Invalid '${name}': string too long. Expected a string with maximum length ${bound}, but got a string with length ${length} instead.`,
        anthropic: `String should have at most ${bound} ${plural}`,
      }
    : {
        code: 'string_below_min_length',
        openai: `Invalid '${name}': ${length === 0 ? 'empty string' : 'string too short'}. Expected a string with minimum length ${bound}, but got ${length === 0 ? 'an empty string' : `a string with length ${length}`} instead.`,
        anthropic: `String should have at least ${bound} ${plural}`,
      };
}

function arrayLength(name: string, above: boolean, bound: number, length: number): Description {
  const [limit, most, word] = above ? ['maximum', 'at most', 'long'] : ['minimum', 'at least', 'short'];
  return {
    code: above ? 'array_above_max_length' : 'array_below_min_length',
    openai: `Invalid '${name}': array too ${word}. Expected an array with ${limit} length ${bound}, but got an array with length ${length} instead.`,
    anthropic: `List should have ${most} ${bound} ${bound === 1 ? 'item' : 'items'} after validation, not ${length}`,
  };
}

function unknownParameter(path: Path, key: string): Description {
  const at = [...path, key];
  return {
    code: 'unknown_parameter',
    openai: `Unknown parameter: '${openaiPath(at)}'.`,
    anthropic: 'Extra inputs are not permitted',
    at,
  };
}

function ownProblem(params: Record<string, unknown> | undefined, name: string): Description {
  const own = params?.problem;
  if (!isProblem(own)) throw new Error('a custom issue without a problem');
  return { ...own, openai: own.code.startsWith('string_') ? `Invalid '${name}': ${own.openai}` : own.openai };
}

const isProblem = (value: unknown): value is Problem =>
  typeof value === 'object' && value !== null && 'code' in value && 'openai' in value && 'anthropic' in value;

function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = Reflect.get(value, part);
  }
  return value;
}
