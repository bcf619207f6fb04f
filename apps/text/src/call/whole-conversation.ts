import type { Candidate } from '@gateway/upstream/catalog';
import type { Dropped } from '../conversation/losses.ts';
import type { StoredItem } from '../stored/conversations/conversation-store.ts';
import { isReference } from '../stored/kept-response.ts';
import type { JsonObject } from '../wire/json-object.ts';
import { TOKEN_PREFIX } from '../wire/opaque-token.ts';
import { isJsonObject, parseBody } from '../wire/raw-json.ts';
import type { TextCall } from './text-call.ts';

/**
 * A call for a channel that does not know what it names: with the whole conversation in the place of ids.
 *
 * @throws {GatewayError} where it is gone by now
 */
export async function wholeCall(call: TextCall, { channel, protocol }: Candidate): Promise<TextCall> {
  const { request, history } = call;
  const window = await history.window();
  const dropped: Dropped[] = [];
  const shown = ({ json, maker }: StoredItem): unknown => {
    const item = parseBody(json);
    const isForeign = protocol === 'responses' && maker !== null && maker !== channel.name;
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
    return { ...rest, input: items.filter((item) => item !== null) };
  };
  return { ...call, request: { ...request, content: { take, release: () => {} }, rewritten: { dropped } } };
}

/** Items that stand for themselves, whatever their ids. */
const SELF_CONTAINED = new Set<unknown>(['message', 'function_call', 'custom_tool_call']);

/**
 * An item for a channel that did not make it: its id would be looked up there. Null for reasoning that only its maker can
 * read; what is sealed in a token of ours is opened, or left out, where the request is written.
 */
function foreignItem({ id, ...item }: JsonObject): JsonObject | null {
  if (SELF_CONTAINED.has(item.type)) return item;
  if (item.type !== 'reasoning') return { id, ...item };
  const seal = item.encrypted_content;
  return typeof seal === 'string' && seal.startsWith(TOKEN_PREFIX) ? item : null;
}
