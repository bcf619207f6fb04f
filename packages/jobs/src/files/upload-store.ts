import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import type { AssetStore, AssetStores } from '@gateway/assets/asset-store';
import { openFolderStore } from '@gateway/assets/folder-store';
import { removeFile } from '@gateway/assets/missing-file';
import { GatewayError } from '@gateway/contracts/gateway-error';

/**
 * The files of requests and the inputs of jobs, until the job ends. A file is written and read on the machine
 * that needs it. Between these machines it lies in the store that services and workers share.
 */
export interface UploadStore {
  /** Where this process writes and reads files, under names of `newId`. */
  readonly folder: string;
  newId(): string;
  /** Where a file lies on this machine: from its arrival until it is shared, and while it is borrowed. */
  pathOf(uploadId: string): string;
  /**
   * Shares files of this machine with the workers on other machines. From then on the files are the workers'.
   *
   * @throws {GatewayError} `storage_full`, `service_unavailable`
   */
  share(uploadIds: readonly string[]): Promise<void>;
  /**
   * Copies shared files to this machine, until the result is disposed of.
   *
   * @throws {GatewayError} `internal` if a file is missing, `storage_full`, `service_unavailable`
   */
  borrow(uploadIds: readonly string[]): Promise<AsyncDisposable>;
  /** Keeps the input of a job, which is its request without the files. Resolves to its id. @throws {GatewayError} as `share` */
  putInput(input: string): Promise<string>;
  /** Undefined for one that is not there. */
  readInput(inputId: string): Promise<string | undefined>;
  /** What is noted beside an input; it is deleted with the input. */
  readonly notes: Pick<AssetStore, 'putNew' | 'open' | 'delete'>;
  /** The id of the note that the input's job has begun. */
  begunIdOf(inputId: string): string;
  /** The id of the note that paid work has begun under a claim. It stays when the input is deleted. */
  claimedIdOf(claim: string): string;
  /** Deletes what is there, files and inputs, here and where they are shared. */
  delete(...ids: string[]): Promise<void>;
  /** Deletes files that were written before this time, in Unix milliseconds. Resolves to how many. */
  sweep(olderThanMs: number): Promise<number>;
}

const ID = /^(upload|input)_[0-9a-f]{32}$/;

/** @param dataDir GATEWAY_DATA_DIR; its folder `uploads` holds what this machine works on where files are not shared as files */
export async function openUploadStore(stores: AssetStores, dataDir: string): Promise<UploadStore> {
  const inputs = await stores.open('inputs');
  const shared = await stores.open('uploads');
  const sharedFolder = stores.folderOf('uploads');
  const folder = sharedFolder ?? join(dataDir, 'uploads');
  const here = await openFolderStore(folder);
  /** The files that only this process knows. */
  const unshared = new Set<string>();

  const pathOf = (id: string) => join(folder, checked(id, 'upload'));
  const begunIdOf = (inputId: string) => `${checked(inputId, 'input')}-begun`;
  const newId = (kind: 'upload' | 'input') => `${kind}_${randomBytes(16).toString('hex')}`;
  const removeHere = (ids: readonly string[]) => Promise.all(ids.map((id) => removeFile(pathOf(id))));

  const share = async (id: string) => {
    if (sharedFolder === undefined) {
      await shared.put(id, createReadStream(pathOf(id)));
      await removeHere([id]);
    }
    unshared.delete(id);
  };
  const borrow = async (id: string) => {
    const asset = await shared.open(checked(id, 'upload'));
    if (asset === undefined) throw missing(id);
    await here.put(id, asset.stream(), { isDurable: false });
  };

  return {
    folder,
    newId: () => {
      const id = newId('upload');
      unshared.add(id);
      return id;
    },
    pathOf,
    share: async (ids) => {
      for (const id of ids) await share(id);
    },
    borrow: async (ids) => {
      if (sharedFolder !== undefined) return { [Symbol.asyncDispose]: async () => undefined };
      const giveBack = async () => void (await removeHere(ids));
      try {
        for (const id of ids) await borrow(id);
      } catch (error) {
        await giveBack();
        throw error;
      }
      return { [Symbol.asyncDispose]: giveBack };
    },
    putInput: async (input) => {
      // Lost with the machine, it lets its job fail before anything has been paid.
      const { id } = await inputs.put(newId('input'), Buffer.from(input), { isDurable: false });
      return id;
    },
    readInput: async (id) => (await (await inputs.open(checked(id, 'input')))?.bytes())?.toString(),
    notes: inputs,
    begunIdOf,
    claimedIdOf: (claim) => `claim_${createHash('sha256').update(claim).digest('hex')}`,
    delete: async (...ids) => {
      const files = ids.filter((id) => kindOf(id) === 'upload');
      await removeHere(files);
      await shared.delete(...files.filter((id) => !unshared.delete(id)));
      const given = ids.filter((id) => kindOf(id) === 'input');
      await inputs.delete(...given, ...given.map(begunIdOf));
    },
    sweep: async (olderThanMs) => {
      const areas = sharedFolder === undefined ? [here, shared, inputs] : [shared, inputs];
      const counts = await Promise.all(areas.map((area) => area.sweep(olderThanMs)));
      return counts.reduce((sum, count) => sum + count, 0);
    },
  };
}

/** @throws {Error} for anything but an id, which is our own mistake */
function kindOf(id: string): string {
  const [, kind] = ID.exec(id) ?? [];
  if (kind === undefined) throw new Error('not an upload id');
  return kind;
}

function checked(id: string, kind: 'upload' | 'input'): string {
  if (kindOf(id) !== kind) throw new Error('not an upload id');
  return id;
}

const missing = (id: string): GatewayError =>
  new GatewayError('internal', {
    message: 'A file of the request cannot be found. Report the request id.',
    cause: new Error(`no upload ${id}: do the service and its workers have the same ASSETS_URL?`),
  });
