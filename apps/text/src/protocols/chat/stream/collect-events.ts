import { ChatToolCallFragment } from '@gateway/contracts/openai/chat-wire';
import { isObject, type JsonObject, objectAt, objectOf } from '../../../wire/json-object.ts';
import { mergedCounters } from '../../../wire/merged-counters.ts';
import { readUpstream } from '../../../wire/read-upstream.ts';
import type { EventCollector } from '../../../wire/stream/event-collector.ts';
import { withSpokenChoices } from '../reply/spoken-choices.ts';
import { begunBy, CallFragments, type FollowedCall } from './call-fragments.ts';
import { WholeMessages } from './whole-messages.ts';

/** Members of a delta that come whole, however often. */
const WHOLE: ReadonlySet<string> = new Set(['role', 'id', 'type', 'index', 'name']);

interface Choice {
  /** Without its message. */
  members: JsonObject;
  message: JsonObject;
  /** A message that came whole, instead of its deltas or beside them. */
  whole: JsonObject;
  readonly calls: CallFragments<CollectedCall>;
}

interface CollectedCall extends FollowedCall {
  members: JsonObject;
}

/** The chunks of a completion as one: texts are joined, and calls are put together. */
export function createCompletionCollector(): EventCollector {
  const messages = new WholeMessages();
  let members: JsonObject | null = null;
  const choices = new Map<unknown, Choice>();
  return {
    take: (event) => {
      const spoken = withSpokenChoices(event, 'delta');
      messages.note(spoken);
      const { choices: pieces, ...chunk } = messages.asDeltas(spoken);
      const { usage } = chunk;
      members = {
        ...members,
        ...named(chunk),
        ...(isObject(usage) && { usage: mergedCounters(objectOf(members?.usage), usage) }),
      };
      for (const piece of Array.isArray(pieces) ? pieces.filter(isObject) : []) {
        const { delta, message: whole, ...more } = piece;
        const index = piece.index ?? 0;
        const choice = choices.get(index) ?? begunChoice(index);
        choices.set(index, choice);
        choice.members = { ...choice.members, ...named(more) };
        const { tool_calls: calls, ...message } = objectOf(delta);
        choice.message = joinedDelta(choice.message, message);
        choice.whole = { ...choice.whole, ...named(objectOf(whole)) };
        if (Array.isArray(calls)) for (const call of calls.filter(isObject)) takeCall(choice, call);
      }
    },
    body: () =>
      members && {
        ...members,
        object: 'chat.completion',
        choices: [...choices.values()].map((choice) => ({ ...choice.members, message: messageOf(choice) })),
      },
  };
}

const begunChoice = (index: unknown): Choice => ({
  members: { index },
  message: {},
  whole: {},
  calls: new CallFragments<CollectedCall>((fragment) => ({ ...begunBy(fragment), members: {} })),
});

function takeCall({ calls }: Choice, piece: JsonObject): void {
  const { call } = calls.add(readUpstream(ChatToolCallFragment, piece));
  call.members = joinedDelta(call.members, piece);
}

const messageOf = ({ message, whole, calls }: Choice): JsonObject => ({
  role: 'assistant',
  content: null,
  ...message,
  ...beyondDeltas(whole, message),
  ...(calls.all.length > 0 && { tool_calls: calls.all.map(wholeCall) }),
});

/** A whole message counts its calls by their place. */
function wholeCall({ members: { index: _, ...call }, text, custom }: CollectedCall): JsonObject {
  const [kind, member] = custom ? ['custom', 'input'] : ['function', 'arguments'];
  const called = objectAt(call, kind);
  return called === null ? call : { ...call, [kind]: { ...called, [member]: text } };
}

/** What a whole message has beyond its deltas. */
const beyondDeltas = (whole: JsonObject, message: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(whole).filter(([name]) => (message[name] ?? '') === ''));

/** Without what is null: a later chunk takes nothing back. */
const named = (members: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));

function joinedDelta(earlier: JsonObject, later: JsonObject): JsonObject {
  const joined: Record<string, unknown> = { ...earlier };
  for (const [name, value] of Object.entries(named(later)))
    joined[name] = joinedMember(name, joined[name], value);
  return joined;
}

function joinedMember(name: string, earlier: unknown, later: unknown): unknown {
  if (WHOLE.has(name)) return later === '' ? earlier : later;
  if (typeof earlier === 'string' && typeof later === 'string') return earlier + later;
  if (Array.isArray(earlier) && Array.isArray(later)) return [...earlier, ...later];
  return isObject(earlier) && isObject(later) ? joinedDelta(earlier, later) : later;
}
