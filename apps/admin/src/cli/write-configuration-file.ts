import { chmod, writeFile } from 'node:fs/promises';
import { errorMessage } from '@gateway/contracts/error-message';
import { CommandError } from './admin-client.ts';

/** It may hold keys. */
const SAFE_MODE = 0o600;

/**
 * Writes a configuration that only its owner may read.
 *
 * @throws {CommandError} if it cannot be written, or is there and not to be replaced
 */
export async function writeConfigurationFile(file: string, text: string, replace: boolean): Promise<void> {
  await writeFile(file, text, { flag: replace ? 'w' : 'wx', mode: SAFE_MODE }).catch((error: unknown) => {
    const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    throw new CommandError(
      isThere
        ? `${file} is already there. Name another file with --output, or overwrite it with --replace.`
        : `${file} cannot be written: ${errorMessage(error)}`,
    );
  });
  // A file that was there keeps its mode.
  await chmod(file, SAFE_MODE);
}
