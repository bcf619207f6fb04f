import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, sweepFolder } from './file-area.ts';

/** What jobs are given: the files of requests, from their arrival, and inputs, until their job ends. Shared by services and workers. */
export interface UploadStore {
  /** Where a service writes them, under names of `newId`. */
  readonly folder: string;
  newId(): string;
  /** For the input of a job: its request without the files. */
  newInputId(): string;
  pathOf(uploadId: string): string;
  /** Where is noted that an input's job has begun; deleted with the input. */
  begunPathOf(inputId: string): string;
  /** Deletes what is there. */
  delete(...uploadIds: string[]): Promise<void>;
  /** Deletes what has been forgotten: files written before this time, in Unix milliseconds. Resolves to how many. */
  sweep(olderThanMs: number): Promise<number>;
}

const ID = /^(upload|input)_[0-9a-f]{32}$/;

/** @param dataDir GATEWAY_DATA_DIR; the files lie in its folders `uploads` and `inputs`, which are made if need be */
export async function openUploadStore(dataDir: string): Promise<UploadStore> {
  const folder = join(dataDir, 'uploads');
  const inputs = join(dataDir, 'inputs');
  await makeFolder(folder);
  await makeFolder(inputs);
  const pathOf = (uploadId: string) => {
    const [, kind] = ID.exec(uploadId) ?? [];
    if (kind === undefined) throw new Error('not an upload id');
    return join(kind === 'input' ? inputs : folder, uploadId);
  };
  const begunPathOf = (inputId: string) => `${pathOf(inputId)}.begun`;
  const newId = (kind: 'upload' | 'input') => `${kind}_${randomBytes(16).toString('hex')}`;
  return {
    folder,
    newId: () => newId('upload'),
    newInputId: () => newId('input'),
    pathOf,
    begunPathOf,
    delete: async (...uploadIds) => {
      const paths = uploadIds.flatMap((uploadId) => [pathOf(uploadId), begunPathOf(uploadId)]);
      await Promise.all(paths.map((path) => rm(path, { force: true })));
    },
    sweep: async (olderThanMs) =>
      (await sweepFolder(folder, olderThanMs)) + (await sweepFolder(inputs, olderThanMs)),
  };
}
