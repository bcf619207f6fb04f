import type { Role } from '@gateway/hooks/check';
import { isObject } from '../../wire/json-object.ts';
import { isJsonObject } from '../../wire/raw-json.ts';

/** A text in a parsed body, and how another takes its place. */
export interface TextSlot {
  readonly text: string;
  readonly role: Role;
  put(text: string): void;
}

/** The members of a request that a model reads, in every protocol. */
const REQUEST_ROOTS = [
  ...['system', 'instructions', 'systemInstruction', 'system_instruction'],
  ...['messages', 'input', 'contents', 'prompt', 'suffix'],
];
/** Those of a reply that it wrote. */
const REPLY_ROOTS = ['output', 'choices', 'content', 'candidates'];

/** Members that hold a text, wherever they are below those. */
const TEXTS: ReadonlySet<string> = new Set([
  ...['text', 'content', 'output', 'input', 'arguments', 'refusal', 'transcript', 'code'],
  ...['system', 'instructions', 'prompt', 'suffix'],
]);
/** Members that hold anything: what tools are called with, and what they return. */
const ANYTHING: ReadonlySet<string> = new Set(['input', 'args', 'response', 'json', 'variables']);

const ROLES: ReadonlyMap<unknown, Role> = new Map([
  ...(['system', 'developer'] as const).map((word) => [word, 'system'] as const),
  ...(['assistant', 'model'] as const).map((word) => [word, 'assistant'] as const),
  ...(['tool', 'function', 'function_call_output', 'custom_tool_call_output', 'tool_result'] as const).map(
    (word) => [word, 'tool'] as const,
  ),
  ['user', 'user'],
]);
const SYSTEM_ROOTS: ReadonlySet<string> = new Set(REQUEST_ROOTS.slice(0, 4));

/** The texts of a request's body, in their order. Media, ids and reasoning are none. */
const requestSlots = (body: object): readonly TextSlot[] =>
  slotsBelow(body, REQUEST_ROOTS, (root) => (SYSTEM_ROOTS.has(root) ? 'system' : 'user'));

/** The texts of a reply's body. */
export const replySlots = (body: object): readonly TextSlot[] =>
  slotsBelow(body, REPLY_ROOTS, () => 'assistant');

/** A text that was found. */
export type FoundText = Pick<TextSlot, 'text' | 'role'>;

const slotsOf = (body: unknown, of: 'request' | 'reply'): readonly TextSlot[] =>
  isObject(body) ? (of === 'request' ? requestSlots : replySlots)(body) : [];

export const textsIn = (body: unknown, of: 'request' | 'reply'): readonly FoundText[] =>
  slotsOf(body, of).map(({ text, role }) => ({ text, role }));

/** The body with other texts in their places, which it gets itself. */
export function withTextsIn(body: unknown, of: 'request' | 'reply', texts: readonly string[]): unknown {
  for (const [index, slot] of slotsOf(body, of).entries()) slot.put(texts[index] ?? '');
  return of === 'reply' ? withoutTokens(body) : body;
}

/** A replaced text's tokens would still show what was replaced. */
function withoutTokens(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTokens);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      name === 'logprobs' ? (Array.isArray(member) ? [] : null) : withoutTokens(member),
    ]),
  );
}

function slotsBelow(body: object, roots: readonly string[], roleOf: (root: string) => Role): TextSlot[] {
  const slots: TextSlot[] = [];
  for (const root of roots) if (Object.hasOwn(body, root)) slotsIn(body, root, roleOf(root), slots);
  return slots;
}

/** @param isAnything every text below is one */
function slotsIn(
  holder: object,
  name: string | number,
  role: Role,
  slots: TextSlot[],
  isAnything = false,
  member = String(name),
): void {
  const value: unknown = Reflect.get(holder, name);
  if (typeof value === 'string') {
    if (value !== '' && (isAnything || TEXTS.has(member)))
      slots.push({ text: value, role, put: (text) => void Reflect.set(holder, name, text) });
    return;
  }
  if (Array.isArray(value)) {
    for (const index of value.keys()) slotsIn(value, index, role, slots, isAnything, member);
    return;
  }
  if (!isObject(value) || isReasoning(value)) return;
  const own = isAnything ? role : (ROLES.get(value.role) ?? ROLES.get(value.type) ?? role);
  for (const inner of Object.keys(value)) {
    // A document of plain text.
    const isData = inner === 'data' && value.type === 'text';
    const isAll = isAnything || isData || (ANYTHING.has(inner) && isObject(value[inner]));
    slotsIn(value, inner, own, slots, isAll, inner);
  }
}

/** Its words are sealed or signed. */
const isReasoning = ({ type, thought }: { readonly [member: string]: unknown }): boolean =>
  type === 'reasoning' || type === 'thinking' || type === 'redacted_thinking' || thought === true;
