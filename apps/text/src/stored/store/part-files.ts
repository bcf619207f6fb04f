import { randomUUID } from 'node:crypto';
import type { AssetStore } from '@gateway/assets/asset-store';
import { gatherShared, isLarge } from '../../large/shared-bytes.ts';

/** The storage of what is too large for Redis; every replica reaches it. */
export interface PartFiles {
  /** The whole or nothing. */
  put(name: string, bytes: Buffer): Promise<void>;
  /** Null for one that is not there. A large one is in memory that threads share. */
  get(name: string): Promise<Buffer | null>;
  remove(name: string): Promise<void>;
}

/** A name of its own for every file, so that removing one never takes what another process has just written. */
export const newPartName = (): string => `conversation-${randomUUID()}.json`;

/** Stores the parts in a store of assets. */
export const partFilesIn = (assets: Pick<AssetStore, 'put' | 'open' | 'delete'>): PartFiles => ({
  put: async (name, bytes) => {
    await assets.put(name, bytes);
  },
  get: async (name) => {
    const asset = await assets.open(name);
    if (asset === undefined) return null;
    // The garbage collector does not count shared memory, so only what goes to a thread anyway lies there.
    if (!isLarge(asset.sizeBytes)) return asset.bytes();
    return gatherShared(asset.sizeBytes, asset.stream());
  },
  remove: (name) => assets.delete(name),
});
