import { ConfigError } from '@gateway/contracts/config-error';
import type { Environment } from '@gateway/contracts/environment';
import type { RevisionStore } from '@gateway/records/configuration/revision-store';
import { takeSecrets } from '@gateway/upstream/configuration/draft/take-secrets';
import { readConfigurationText } from '@gateway/upstream/configuration/load-configuration';
import type { SealedValues } from '@gateway/upstream/configuration/stored/sealed-values';
import type { Draft } from './draft.ts';

interface ImportOptions {
  readonly store: RevisionStore;
  readonly values: SealedValues;
  readonly draft: Draft;
  readonly path: string;
  readonly env: Environment;
}

const AUTHOR = { who: 'file', requestId: null };

/**
 * Makes the configuration file the first revision, where there is a file and no revision yet.
 *
 * @throws {ConfigError} for a file with mistakes
 */
export async function importFile({ store, values, draft, path, env }: ImportOptions): Promise<void> {
  if ((await store.latest()) !== undefined) return;
  const text = await readConfigurationText({ path, env });
  if (text === null) return;
  const { mistakes } = await draft({ base: text, text });
  const [first] = mistakes;
  if (first !== undefined)
    throw new ConfigError(
      `${path} cannot be imported into the database. ${first.line === null ? '' : `Line ${first.line}, `}${first.path}: found ${first.found}, expected ${first.expected}.`,
    );
  const taken = takeSecrets(text);
  const reason = `Imported from ${path}`;
  // Where another process was faster it has done the same.
  await store.add({
    ...{ base: 0, text: taken.text, reason, by: AUTHOR },
    secrets: Object.fromEntries(
      Object.entries(taken.secrets).map(([name, value]) => [name, values.seal(name, value)]),
    ),
    audit: { before: null, after: { revision: 1, reason } },
  });
}
