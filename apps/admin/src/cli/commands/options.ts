import { parseArgs } from 'node:util';
import { errorMessage } from '@gateway/contracts/error-message';

/** A command line that cannot be understood. Shown with a hint at `--help`; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const text = { type: 'string' } as const;
const many = { type: 'string', multiple: true } as const;
const flag = { type: 'boolean', default: false } as const;

const options = {
  name: text,
  team: text,
  owner: text,
  email: text,
  role: text,
  teams: text,
  'send-email': flag,
  models: text,
  endpoints: text,
  'expires-at': text,
  label: many,
  priority: text,
  disable: flag,
  enable: flag,
  limit: many,
  'model-limit': many,
  budget: text,
  period: text,
  'allow-unpriced': flag,
  'webhook-url': text,
  remove: many,
  grace: text,
  from: text,
  to: text,
  'time-zone': text,
  'group-by': text,
  key: text,
  model: text,
  input: text,
  channel: text,
  endpoint: text,
  outcome: text,
  'error-code': text,
  failed: flag,
  'end-user': text,
  session: text,
  format: text,
  id: text,
  count: text,
  account: text,
  seconds: text,
  reason: text,
  status: text,
  json: flag,
  help: { type: 'boolean', short: 'h', default: false },
} as const;

export type OptionName = keyof typeof options;
export type Values = ReturnType<typeof readOptions>['values'];

/** @throws {UsageError} */
export function readOptions(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(errorMessage(error));
  }
}

/** The options that were given. */
export const namesGiven = (values: Values): string[] =>
  Object.entries(values)
    .filter(([, value]) => value !== undefined && value !== false)
    .map(([name]) => name);

export const list = (value: string): string[] =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

/** `NAME=VALUE`; values may hold further equals signs. */
export function pair(value: string, what: string): [string, string] {
  const at = value.indexOf('=');
  if (at < 1) throw new UsageError(`${what} must be NAME=VALUE, not ${value}`);
  return [value.slice(0, at), value.slice(at + 1)];
}

/** A text that is not a number stays, so that the service refuses it. */
export const numberOrText = (value: string): number | string =>
  value.trim() === '' || Number.isNaN(Number(value)) ? value : Number(value);
