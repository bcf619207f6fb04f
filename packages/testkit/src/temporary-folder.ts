import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TemporaryFolder {
  /** Absolute, without symbolic links. */
  readonly path: string;
  /** Removes it with all that is in it. */
  close(): Promise<void>;
}

/** A folder of the test's own. */
export async function temporaryFolder(): Promise<TemporaryFolder> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'gateway-test-')));
  return { path, close: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}
