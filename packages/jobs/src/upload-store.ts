import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, sweepFolder } from './file-area.ts';

/** Files of requests, from their arrival to the end of their job. Shared by services and workers. */
export interface UploadStore {
  /** Where a service writes them, under names of `newId`. */
  readonly folder: string;
  newId(): string;
  pathOf(uploadId: string): string;
  /** Deletes what is there. */
  delete(...uploadIds: string[]): Promise<void>;
  /** Deletes what has been forgotten: files written before this time, in Unix milliseconds. Resolves to how many. */
  sweep(olderThanMs: number): Promise<number>;
}

const UPLOAD_ID = /^upload_[0-9a-f]{32}$/;

/** @param dataDir GATEWAY_DATA_DIR; the files lie in its `uploads` folder, which is made if need be */
export async function openUploadStore(dataDir: string): Promise<UploadStore> {
  const folder = join(dataDir, 'uploads');
  await makeFolder(folder);
  const pathOf = (uploadId: string) => {
    if (!UPLOAD_ID.test(uploadId)) throw new Error('not an upload id');
    return join(folder, uploadId);
  };
  return {
    folder,
    newId: () => `upload_${randomBytes(16).toString('hex')}`,
    pathOf,
    delete: async (...uploadIds) => {
      await Promise.all(uploadIds.map((uploadId) => rm(pathOf(uploadId), { force: true })));
    },
    sweep: (olderThanMs) => sweepFolder(folder, olderThanMs),
  };
}
