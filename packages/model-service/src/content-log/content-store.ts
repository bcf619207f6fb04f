import type { AssetStore, AssetStores } from '@gateway/assets/asset-store';
import { CONTENT_STORES } from '@gateway/contracts/content-log';
import { type FilePlace, openStores } from '../jobs/open-file-stores.ts';

export interface ContentStores {
  readonly lines: AssetStore;
  readonly erasures: AssetStore;
}

export const openContentStores = async (stores: Pick<AssetStores, 'open'>): Promise<ContentStores> => ({
  lines: await stores.open(CONTENT_STORES.lines),
  erasures: await stores.open(CONTENT_STORES.erasures),
});

/** The stores of the content log: opened when they are needed, and again where that failed. */
export interface ContentStore {
  get(): Promise<ContentStores>;
  close(): Promise<void>;
}

export function createContentStore(place: FilePlace): ContentStore {
  let opening: Promise<{ stores: AssetStores; content: ContentStores }> | null = null;
  const open = async () => {
    const stores = await openStores({ ...place, ASSETS_URL: place.CONTENT_LOG_URL ?? place.ASSETS_URL });
    return { stores, content: await openContentStores(stores) };
  };
  return {
    get: async () => {
      opening ??= open().catch((error: unknown) => {
        opening = null;
        throw error;
      });
      return (await opening).content;
    },
    close: async () => (await opening?.catch(() => null))?.stores.close(),
  };
}
