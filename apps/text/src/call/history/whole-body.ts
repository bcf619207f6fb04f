import { isCompactionItem } from '@gateway/contracts/openai/responses';
import type { Dropped } from '../../neutral/losses.ts';
import { isReference } from '../../stored/response-record.ts';
import type { StoredItem } from '../../stored/store/conversation-store.ts';
import { parseItem } from '../../stored/store/item-json.ts';
import type { JsonObject } from '../../wire/json-object.ts';
import { isJsonObject } from '../../wire/raw-json.ts';
import { isSealedHere } from '../../wire/tokens/compaction-seal.ts';
import { TOKEN_PREFIX } from '../../wire/tokens/opaque-token.ts';
import { unreadableCompaction } from './not-found.ts';

/** What a request has from earlier responses. */
export interface EarlierItems {
  /** Come before its own. */
  readonly window: readonly StoredItem[];
  /** Those that it names by their ids. */
  readonly named: ReadonlyMap<string, StoredItem>;
  /** The maker whose channel gets it; null where a channel of another protocol does. */
  readonly reader: string | null;
  /** Its member `conversation` names what `window` holds. */
  readonly isConversation: boolean;
}

/**
 * A request of the Responses protocol with the whole conversation instead of the ids that it names.
 *
 * @param body parsed by `parseBody`
 * @throws {GatewayError} `invalid_compaction` for a conversation that only its maker can continue
 */
export function wholeBody(
  body: unknown,
  { window, named, reader, isConversation }: EarlierItems,
): { readonly body: unknown; readonly dropped: readonly Dropped[] } {
  if (!isJsonObject(body)) return { body, dropped: [] };
  const { previous_response_id: _, conversation, input, ...others } = body;
  const rest = !isConversation && conversation !== undefined ? { ...others, conversation } : others;
  const own =
    typeof input === 'string' ? [{ role: 'user', content: input }] : Array.isArray(input) ? input : [];
  const items = [
    ...window.map((item) => shownTo(reader, item)),
    ...own.map((item: unknown) => {
      const kept = isReference(item) ? named.get(item.id) : undefined;
      return kept === undefined ? item : shownTo(reader, kept);
    }),
  ];
  const dropped = items.flatMap((item, index): Dropped[] =>
    item === null ? [{ path: ['input', index], reason: "another provider's reasoning" }] : [],
  );
  return { body: { ...rest, input: leftOf(items) }, dropped };
}

/** How many items a channel gets of a window. */
export const shownCount = ({ window, reader }: Pick<EarlierItems, 'window' | 'reader'>): number =>
  leftOf(window.map((item) => shownTo(reader, item))).length;

/** Matches JSON that the gateway wrote. Inside a text the quotes are escaped, so they do not match. */
const COMPACTION = /"type":"compaction(?:_summary)?"/;

export const holdsCompactions = (window: EarlierItems['window']): boolean =>
  window.some(({ json }) => COMPACTION.test(String(json)));

function shownTo(reader: string | null, { json, maker }: Pick<StoredItem, 'json' | 'maker'>): unknown {
  const item = parseItem(json);
  const isForeign = reader !== null && maker !== null && maker !== reader;
  return isForeign && isJsonObject(item) ? foreignItem(item) : item;
}

const leftOf = (items: readonly unknown[]): readonly unknown[] => items.filter((item) => item !== null);

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
