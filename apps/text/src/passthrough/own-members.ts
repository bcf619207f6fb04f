import { isPending } from '../background/ending.ts';
import { withOwnChoices } from '../protocols/chat/reply/spoken-choices.ts';
import { withBlocks } from '../protocols/messages/reply/text-blocks.ts';
import { isOddItem } from '../protocols/responses/reply/own-item.ts';
import { missingMembers } from '../protocols/responses/reply/whole-output.ts';
import { newItemId } from '../stored/stored-conversations.ts';
import { isObject, type JsonObject, objectOf, textAt } from '../wire/json-object.ts';
import { parseArguments } from '../wire/raw-json.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import type { RepeatedCallIds } from './repeated-call-ids.ts';

/** The members that a whole response lacks: without an output it may have its text elsewhere; without a status it has ended. */
export function missingInWhole(whole: JsonObject, parsed: () => JsonObject): JsonObject | null {
  const isEmpty = !Array.isArray(whole.output) || whole.output.length === 0;
  const isOdd = Array.isArray(whole.output) && whole.output.some(isOddItem);
  const isShort = isEmpty || isOdd || (whole.status ?? null) === null;
  return isShort && !isPending(whole) ? withIds(missingMembers(parsed(), null)) : null;
}

/** Clients and lists name items by their ids. */
export const withIds = (members: JsonObject | null): JsonObject | null =>
  members && {
    ...members,
    ...(Array.isArray(members.output) && {
      output: members.output
        .filter(isObject)
        .map((item) => ({ ...item, id: textAt(item, 'id') ?? newItemId(item.type) })),
    }),
  };

/** The content of a message as its protocol has it, where its server writes it, or a call's input, in another form; null for any other. */
function ownContent(parsed: () => JsonObject, content: unknown): JsonObject | null {
  if (!isOddContent(content)) return null;
  const exact = objectOf(withBlocks(parsed())).content;
  return {
    content: Array.isArray(exact)
      ? exact.map((block) =>
          hasTextInput(block) ? { ...block, input: parseArguments(block.input) ?? {} } : block,
        )
      : exact,
  };
}

const isOddContent = (content: unknown): boolean =>
  Array.isArray(content) ? content.some(hasTextInput) : (content ?? null) !== null;

const hasTextInput = (block: unknown): block is JsonObject & { readonly input: string } =>
  isObject(block) && typeof block.input === 'string';

/** The members of a whole reply as its protocol has them, where its server writes its text in another form; null for none. */
function ownMembers(protocol: TextProtocol, whole: JsonObject, parsed: () => JsonObject): JsonObject | null {
  if (protocol === 'messages') return ownContent(parsed, whole.content);
  if (withOwnChoices(whole, 'message') === whole) return null;
  const { choices } = withOwnChoices(parsed(), 'message');
  return { choices };
}

/** The same with ids for its calls that its conversation does not have yet. */
export function shownMembers(
  protocol: TextProtocol,
  ids: Pick<RepeatedCallIds, 'reply'>,
  whole: JsonObject,
  parsed: () => JsonObject,
): JsonObject | null {
  const own = ownMembers(protocol, whole, parsed);
  if (own === null) return ids.reply(whole, parsed);
  return { ...own, ...ids.reply({ ...whole, ...own }, () => ({ ...parsed(), ...own })) };
}
