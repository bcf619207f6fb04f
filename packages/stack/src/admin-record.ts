import { randomBytes } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** In the data folder, for the command line: the address of the running gateway's admin service, and the key that proves it. */
const FILE = 'admin.json';

export const newInstanceKey = (): string => randomBytes(32).toString('base64url');

/** Written to another file and moved, so that no reader sees half a record. Only this user can read it. */
export async function writeAdminRecord(
  dataFolder: string,
  record: { readonly url: string; readonly instanceKey: string },
): Promise<void> {
  const file = join(dataFolder, FILE);
  await writeFile(`${file}.new`, `${JSON.stringify(record)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

export const removeAdminRecord = (dataFolder: string): Promise<void> =>
  rm(join(dataFolder, FILE), { force: true });
