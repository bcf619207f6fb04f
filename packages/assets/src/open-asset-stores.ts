import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AssetStores } from './asset-store.ts';
import { openFolderStore } from './folder-store.ts';
import type { S3Credentials } from './s3-store.ts';

export interface AssetStoresOptions {
  /** `s3://bucket/prefix`, or a folder: `file:///path` or a path. */
  readonly url: string;
  /** Of an S3-compatible store that is not Amazon's. */
  readonly endpoint?: string | undefined;
  /** Where callers reach the S3 store; without it they get everything through the gateway. */
  readonly publicEndpoint?: string | undefined;
  readonly region?: string | undefined;
  /** Absent: by the usual AWS variables and files. */
  readonly credentials?: S3Credentials;
}

const S3_URL = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*?))?\/?$/;

/** Whether a setting names a place where assets can lie. */
export const isAssetsUrl = (url: string): boolean =>
  url.startsWith('s3:') ? S3_URL.test(url) : !/^(?!file:)[a-z]+:\/\//.test(url);

/**
 * Opens the place where assets lie: a folder, or a bucket of any S3-compatible store.
 *
 * @throws {ConfigError} when the bucket does not answer
 */
export async function openAssetStores({ url, ...options }: AssetStoresOptions): Promise<AssetStores> {
  const [, bucket, prefix = ''] = S3_URL.exec(url) ?? [];
  if (bucket !== undefined) {
    // The client takes memory and half a second of processor time: only processes that use it load it.
    const { openS3Stores } = await import('./s3-store.ts');
    return openS3Stores({ ...options, bucket, prefix });
  }
  const folder = url.startsWith('file:') ? fileURLToPath(url) : url;
  const folderOf = (name: string) => join(folder, name);
  return { open: (name) => openFolderStore(folderOf(name)), folderOf, close: () => undefined };
}
