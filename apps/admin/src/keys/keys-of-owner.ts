import type { KeyStore } from '@gateway/metering/keys/key-store';

const AT_ONCE = 200;
/** Keys that are looked at: an owner's name may be a part of many others. */
const MAX_LOOKED_AT = 10_000;

/** The ids of all keys of an owner, revoked ones included. Upper and lower case are the same. */
export const keysOfOwner =
  (keys: Pick<KeyStore, 'listKeys'>) =>
  async (owner: string): Promise<ReadonlySet<string>> => {
    const wanted = owner.trim().toLowerCase();
    const ids = new Set<string>();
    let after: string | undefined;
    for (let looked = 0; looked < MAX_LOOKED_AT; looked += AT_ONCE) {
      const page = await keys.listKeys({ limit: AT_ONCE, after, only: { search: wanted } });
      for (const key of page.keys) if (key.owner?.toLowerCase() === wanted) ids.add(key.id);
      if (page.next === null) break;
      after = page.next;
    }
    return ids;
  };
