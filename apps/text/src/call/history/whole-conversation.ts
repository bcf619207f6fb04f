import { isCompactionItem } from '@gateway/contracts/openai/responses';
import type { Candidate } from '@gateway/upstream/candidate';
import type { Dropped } from '../../neutral/losses.ts';
import { makerAt, makerName } from '../../stored/origins/maker.ts';
import { isReference } from '../../stored/response-record.ts';
import type { StoredItem } from '../../stored/store/conversation-store.ts';
import type { JsonObject } from '../../wire/json-object.ts';
import { isJsonObject, parseBody } from '../../wire/raw-json.ts';
import { isSealedHere } from '../../wire/tokens/compaction-seal.ts';
import { TOKEN_PREFIX } from '../../wire/tokens/opaque-token.ts';
import { conversationIn } from '../request/history.ts';
import type { TextCall } from '../request/text-call.ts';
import { unreadableCompaction } from './not-found.ts';

/**
 * A call for a channel that does not know the named ids: the whole conversation replaces them.
 *
 * @throws {GatewayError} if the conversation is gone
 */
export async function wholeCall(call: TextCall, candidate: Candidate): Promise<TextCall> {
  const { request, history } = call;
  const window = (await history.continued?.window()) ?? [];
  const dropped: Dropped[] = [];
  const reader = makerName(makerAt(candidate));
  const shown = ({ json, maker }: StoredItem): unknown => {
    const item = parseBody(json);
    const isForeign = candidate.protocol === 'responses' && maker !== null && maker !== reader;
    return isForeign && isJsonObject(item) ? foreignItem(item) : item;
  };
  const take = () => {
    const body = request.content.take();
    if (!isJsonObject(body)) return body;
    const { previous_response_id: _, conversation, input, ...others } = body;
    const rest =
      conversationIn(history) === null && conversation !== undefined ? { ...others, conversation } : others;
    const own =
      typeof input === 'string' ? [{ role: 'user', content: input }] : Array.isArray(input) ? input : [];
    const items = [
      ...window.map(shown),
      ...own.map((item: unknown) => {
        const kept = isReference(item) ? history.items.get(item.id) : undefined;
        return kept === undefined ? item : shown(kept);
      }),
    ];
    dropped.length = 0;
    for (const [index, item] of items.entries())
      if (item === null) dropped.push({ path: ['input', index], reason: "another provider's reasoning" });
    return { ...rest, input: leftOf(items) };
  };
  const holdsCompactions = window.some(({ json }) => COMPACTION.test(json));
  const compaction = holdsCompactions
    ? { order: request.compaction?.order ?? null, holdsCompactions }
    : request.compaction;
  return {
    ...call,
    request: {
      ...request,
      compaction,
      content: { take, release: () => {} },
      rewritten: { dropped, keptItems: compaction === null ? 0 : leftOf(window.map(shown)).length },
    },
  };
}

const leftOf = (items: readonly unknown[]): readonly unknown[] => items.filter((item) => item !== null);

/** Matches JSON that the gateway wrote. Inside a text the quotes are escaped, so they do not match. */
const COMPACTION = /"type":"compaction(?:_summary)?"/;

/** Items that are complete without their ids. */
const SELF_CONTAINED = new Set<unknown>(['message', 'function_call', 'custom_tool_call']);

/**
 * An item for a channel that did not make it, without its id, which the channel would look up. Null: only its maker can read
 * this reasoning. The encoder of the request opens our own tokens, or leaves them out.
 *
 * @throws {GatewayError} `invalid_compaction` for a conversation that only its maker can continue
 */
function foreignItem({ id, ...item }: JsonObject): JsonObject | null {
  if (SELF_CONTAINED.has(item.type)) return item;
  const { encrypted_content: sealed } = item;
  if (isCompactionItem(item)) {
    if (typeof sealed === 'string' && isSealedHere(sealed)) return item;
    throw unreadableCompaction(['previous_response_id']);
  }
  if (item.type !== 'reasoning') return { id, ...item };
  const seal = item.encrypted_content;
  return typeof seal === 'string' && seal.startsWith(TOKEN_PREFIX) ? item : null;
}
