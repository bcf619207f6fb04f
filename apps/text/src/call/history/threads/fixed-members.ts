import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { betasOf } from '../../../protocols/messages/request/betas.ts';
import { type JsonObject, objectAt } from '../../../wire/json-object.ts';

/** What is the same on every turn of a thread, as digests of each member's value, by the member's name. */
export type FixedMembers = Readonly<Record<string, string>>;

/** A turn that leaves these out has the thread's. */
const INHERITED: ReadonlySet<string> = new Set(['system', 'tools']);

const PLAIN = ['model', 'thinking', 'tool_choice', 'cache_control', 'system', 'tools'] as const;

/** Absent where a request leaves a member out, or sets it to null. */
export function fixedMembersOf(body: JsonObject, headers: IncomingHttpHeaders): FixedMembers {
  const config = outputConfigOf(body);
  const values: [string, unknown][] = [
    ...PLAIN.map((name): [string, unknown] => [name, body[name]]),
    ['output_config', config],
    ['anthropic-beta', betasOf(headers).toSorted()],
  ];
  return Object.fromEntries(
    values.flatMap(([name, value]) => ((value ?? null) === null ? [] : [[name, digestOf(value)]])),
  );
}

/** The members of a later turn that are not the thread's, in the order in which a refusal names them. */
export const differingMembers = (turn: FixedMembers, thread: FixedMembers): readonly string[] =>
  [...PLAIN, 'output_config', 'anthropic-beta'].filter(
    (name) => turn[name] !== thread[name] && !(INHERITED.has(name) && turn[name] === undefined),
  );

/** `output_format` is the old name of `output_config.format`. */
function outputConfigOf(body: JsonObject): JsonObject | null {
  const config = objectAt(body, 'output_config');
  const format = body.output_format ?? null;
  if (format === null) return config;
  return { ...config, format };
}

const digestOf = (value: unknown): string =>
  createHash('sha256').update(canonical(value)).digest('base64url');

/** The order of an object's members means nothing. */
const canonical = (value: unknown): string => JSON.stringify(value, (_, inner) => sorted(inner));

const sorted = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value;
