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
  ...['messages', 'input', 'contents', 'prompt', 'suffix', 'prediction'],
  // How a conversation is to be summarised, and what is put into a stored one.
  ...['compaction', 'context_management', 'items'],
];
/** Those of a reply that it wrote. */
const REPLY_ROOTS = ['output', 'choices', 'content', 'candidates'];

/** Members that hold a text, wherever they are below those. */
const TEXTS: ReadonlySet<string> = new Set([
  ...['text', 'content', 'output', 'input', 'arguments', 'refusal', 'transcript', 'code'],
  ...['system', 'instructions', 'prompt', 'suffix', 'cited_text'],
  // Of commands and patches, and what came of them.
  ...['command', 'commands', 'diff', 'stdout', 'stderr', 'logs'],
]);
/** The same in a request alone: of documents. In a reply they belong to citations. */
const REQUEST_TEXTS: ReadonlySet<string> = new Set([...TEXTS, 'title', 'context']);
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
  slotsBelow(body, REQUEST_ROOTS, REQUEST_TEXTS, (root) => (SYSTEM_ROOTS.has(root) ? 'system' : 'user'));

/** The texts of a reply's body. */
export const replySlots = (body: object): readonly TextSlot[] =>
  slotsBelow(body, REPLY_ROOTS, TEXTS, () => 'assistant');

/** The texts in the members of an item of a reply, but for those that are named. */
export const otherSlots = (item: object, but: ReadonlySet<string>): readonly TextSlot[] =>
  slotsBelow(
    item,
    Object.keys(item).filter((member) => !but.has(member)),
    TEXTS,
    () => 'assistant',
  );

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
export function withoutTokens(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTokens);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      if (name === 'logprobsResult') return [];
      if (name === 'logprobs') return [[name, Array.isArray(member) ? [] : null]];
      return [[name, withoutTokens(member)]];
    }),
  );
}

function slotsBelow(
  body: object,
  roots: readonly string[],
  texts: ReadonlySet<string>,
  roleOf: (root: string) => Role,
): TextSlot[] {
  const slots: TextSlot[] = [];
  for (const root of roots) {
    if (!Object.hasOwn(body, root)) continue;
    slotsIn(body, root, { texts, slots, role: roleOf(root), isAnything: false, member: root });
  }
  return slots;
}

interface Place {
  /** Members that hold a text. */
  readonly texts: ReadonlySet<string>;
  readonly slots: TextSlot[];
  readonly role: Role;
  /** Every text below is one. */
  readonly isAnything: boolean;
  /** The member that the value is in, also as one of a list. */
  readonly member: string;
}

function slotsIn(holder: object, name: string | number, place: Place): void {
  const { texts, slots, role, isAnything, member } = place;
  const value: unknown = Reflect.get(holder, name);
  if (typeof value === 'string') {
    if (value !== '' && (isAnything || texts.has(member)))
      slots.push({ text: value, role, put: (text) => void Reflect.set(holder, name, text) });
    return;
  }
  if (Array.isArray(value)) {
    for (const index of value.keys()) slotsIn(value, index, place);
    return;
  }
  if (!isObject(value)) return;
  const own = isAnything ? role : (ROLES.get(value.role) ?? ROLES.get(value.type) ?? role);
  for (const inner of Object.keys(value)) {
    if (!isAnything && isReasoning(value, inner, own)) continue;
    // A document of plain text.
    const isData = inner === 'data' && value.type === 'text';
    const isAll = isAnything || isData || ANYTHING.has(inner);
    slotsIn(value, inner, { ...place, role: own, isAnything: isAll, member: inner });
  }
}

/**
 * Whether a member holds a model's reasoning, whose words are sealed or signed. Only where its protocol has it: a message is not
 * reasoning because a member says so. (Of Messages no member with reasoning is a text.)
 */
function isReasoning(holder: { readonly [member: string]: unknown }, member: string, role: Role): boolean {
  const { type, thought } = holder;
  if (type === 'reasoning') return !('role' in holder) && (member === 'summary' || member === 'content');
  return thought === true && type === undefined && role === 'assistant' && member === 'text';
}
