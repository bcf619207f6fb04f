import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { makeFolder, openFile, sweepFolder, writeWhole } from './file-area.ts';

/** Stored bytes that a job made. */
export interface Asset {
  readonly id: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  /** The bytes; closes the asset when they have been read. */
  stream(): Readable;
  /** All the bytes at once; closes the asset. */
  bytes(): Promise<Buffer>;
  /** Needed where neither is called. */
  close(): Promise<void>;
}

/** Where the results of jobs lie until they expire. */
export interface AssetStore {
  /**
   * Stores the whole or nothing. The same id again replaces what was there, so a job that runs twice leaves one asset.
   *
   * @throws {GatewayError} `storage_full`
   */
  put(id: string, source: Uint8Array | AsyncIterable<Uint8Array>): Promise<{ id: string; sizeBytes: number }>;
  /** Undefined for what is not there (any more) and for what is no id. */
  open(id: string): Promise<Asset | undefined>;
  delete(id: string): Promise<void>;
  /** Deletes what was stored before this time, in Unix milliseconds. Resolves to how many. */
  sweep(olderThanMs: number): Promise<number>;
}

/** The ending of an asset's id says what its bytes are. */
const ENDINGS = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'image/svg+xml': 'svg',
  'application/json': 'json',
  'application/octet-stream': 'bin',
} as const satisfies Record<string, string>;

const CONTENT_TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries(ENDINGS).map(([contentType, ending]) => [ending, contentType]),
);

const endingOf = (contentType: string): string => new Map(Object.entries(ENDINGS)).get(contentType) ?? 'bin';

/** The id of a job's asset: the same whenever the job runs. `index` is a number, or a name such as `result`. */
export const assetId = (jobId: string, index: number | string, contentType: string): string =>
  `${jobId}-${index}.${endingOf(contentType)}`;

const ASSET_ID = /^[A-Za-z0-9_-]{1,80}\.([a-z]{3,4})$/;

/**
 * Keeps assets as files.
 * @param dataDir GATEWAY_DATA_DIR; the files lie in its `assets` folder, which is made if need be
 */
export async function openAssetStore(dataDir: string): Promise<AssetStore> {
  const folder = join(dataDir, 'assets');
  await makeFolder(folder);
  const contentTypeOf = (id: string) => CONTENT_TYPES.get(ASSET_ID.exec(id)?.[1] ?? '');
  const pathOf = (id: string) => {
    if (contentTypeOf(id) === undefined) throw new Error('not an asset id');
    return join(folder, id);
  };
  return {
    put: async (id, source) => ({ id, ...(await writeWhole(pathOf(id), source)) }),
    open: async (id) => {
      const contentType = contentTypeOf(id);
      if (contentType === undefined) return undefined;
      const file = await openFile(join(folder, id));
      if (file === undefined) return undefined;
      const { size } = await file.stat();
      return {
        id,
        contentType,
        sizeBytes: size,
        stream: () => file.createReadStream(),
        bytes: async () => {
          try {
            return await file.readFile();
          } finally {
            await file.close();
          }
        },
        close: () => file.close(),
      };
    },
    delete: (id) => rm(pathOf(id), { force: true }),
    sweep: (olderThanMs) => sweepFolder(folder, olderThanMs),
  };
}
