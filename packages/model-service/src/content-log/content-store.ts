import type { AssetStore, AssetStores } from '@gateway/assets/asset-store';
import { CONTENT_STORE } from '@gateway/contracts/content-log';
import { type FilePlace, openStores } from '../jobs/open-file-stores.ts';

/** The store of the content log: opened when it is needed, and again where that failed. */
export interface ContentStore {
  get(): Promise<AssetStore>;
  close(): Promise<void>;
}

export function createContentStore(place: FilePlace): ContentStore {
  let opening: Promise<{ stores: AssetStores; store: AssetStore }> | null = null;
  const open = async () => {
    const stores = await openStores({ ...place, ASSETS_URL: place.CONTENT_LOG_URL ?? place.ASSETS_URL });
    return { stores, store: await stores.open(CONTENT_STORE) };
  };
  return {
    get: async () => {
      opening ??= open().catch((error: unknown) => {
        opening = null;
        throw error;
      });
      return (await opening).store;
    },
    close: async () => (await opening?.catch(() => null))?.stores.close(),
  };
}
