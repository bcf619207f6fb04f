import { isCompactionItem } from '@gateway/contracts/openai/responses';
import type { Candidate } from '@gateway/upstream/candidate';
import type { Dropped } from '../conversation/losses.ts';
import type { StoredItem } from '../stored/conversations/conversation-store.ts';
import { isReference } from '../stored/kept-response.ts';
import { makerAt, makerName } from '../stored/maker.ts';
import { isSealedHere } from '../wire/compaction-seal.ts';
import type { JsonObject } from '../wire/json-object.ts';
import { TOKEN_PREFIX } from '../wire/opaque-token.ts';
import { isJsonObject, parseBody } from '../wire/raw-json.ts';
import { unreadableCompaction } from './not-found.ts';
import type { TextCall } from './text-call.ts';

/**
 * A call for a channel that does not know what it names: with the whole conversation instead of ids.
 *
 * @throws {GatewayError} where it is gone by now
 */
export async function wholeCall(call: TextCall, candidate: Candidate): Promise<TextCall> {
  const { request, history } = call;
  const window = await history.window();
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
      history.conversation === null && conversation !== undefined ? { ...others, conversation } : others;
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

/** In JSON that the gateway wrote; inside a text the quotes are escaped. */
const COMPACTION = /"type":"compaction(?:_summary)?"/;

/** Items that are complete without a look at their ids. */
const SELF_CONTAINED = new Set<unknown>(['message', 'function_call', 'custom_tool_call']);

/**
 * An item for a channel that did not make it: its id would be looked up there. Null for reasoning that only its maker can
 * read; what is sealed in a token of ours is opened, or left out, where the request is written.
 *
 * @throws {GatewayError} `invalid_compaction` for a conversation that only its maker can go on from
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
