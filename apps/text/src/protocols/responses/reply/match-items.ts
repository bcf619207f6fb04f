import { type JsonObject, textAt } from '../../../wire/json-object.ts';

/** How an item of a response is recognised where it comes again. */
export interface ItemIdentity {
  readonly type: string;
  readonly id: string | null;
  readonly callId: string | null;
}

export const identityOf = (item: JsonObject): ItemIdentity => ({
  type: textAt(item, 'type') ?? '',
  id: textAt(item, 'id') || null,
  callId: textAt(item, 'call_id') || null,
});

/**
 * Finds the items of a final output among those that a stream brought: by their ids, else by their order among those of
 * the same type, because some servers give an item another id in the final event.
 *
 * @param known the items of the stream by their positions, in order
 * @returns the position of each item; null for one that the stream did not bring
 */
export function matchItems(
  known: ReadonlyMap<number, ItemIdentity>,
  items: readonly JsonObject[],
): readonly (number | null)[] {
  const free = new Map(known);
  const take = (isSame: (identity: ItemIdentity) => boolean): number | null => {
    for (const [position, identity] of free) {
      if (!isSame(identity)) continue;
      free.delete(position);
      return position;
    }
    return null;
  };
  const identities = items.map(identityOf);
  const byId = identities.map(({ type, id, callId }) =>
    take(
      (one) =>
        one.type === type && ((id !== null && one.id === id) || (callId !== null && one.callId === callId)),
    ),
  );
  return byId.map((position, index) => position ?? take(({ type }) => type === identities[index]?.type));
}
