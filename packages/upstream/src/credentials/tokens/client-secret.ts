import { readFile } from 'node:fs/promises';

interface SecretSettings {
  readonly clientSecret?: string | undefined;
  readonly clientSecretFile?: string | undefined;
}

/** A secret as configured, or as its file has it now. */
export const secretOf = async ({
  clientSecret,
  clientSecretFile,
}: SecretSettings): Promise<string | undefined> =>
  clientSecretFile === undefined ? clientSecret : (await readFile(clientSecretFile, 'utf8')).trim();
