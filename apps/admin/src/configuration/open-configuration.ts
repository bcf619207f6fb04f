import type { Environment } from '@gateway/contracts/environment';
import type { Records } from '@gateway/records/open-records';
import type { Life } from '@gateway/service-kit/life/life';
import type { Logger } from '@gateway/service-kit/logger';
import { readConfigurationText } from '@gateway/upstream/configuration/load-configuration';
import type { StoredConfiguration } from '@gateway/upstream/configuration/stored/stored-configuration';
import type { Redis } from 'ioredis';
import type { AdminConfig } from '../config.ts';
import { type BaseText, createDraft, type Draft } from './draft.ts';
import { PLACEHOLDER } from './read-configuration.ts';
import type { Revisions } from './revisions.ts';

/** Where the configuration comes from, and how it is changed. */
export interface OpenConfiguration {
  readonly draft: Draft;
  /** What drafts are compared with, with its secrets. */
  readonly readBase: () => Promise<BaseText>;
  /** The values that are sealed beside the configuration in use; none beside a file. */
  readonly readSealed: () => Promise<Readonly<Record<string, string>>>;
  /** As the services get it; absent: the file is the truth. */
  readonly stored: StoredConfiguration | undefined;
  /** Null: the file is the truth. */
  readonly revisions: Revisions | null;
}

interface OpenOptions {
  readonly config: AdminConfig;
  readonly env: Environment;
  readonly redis: Redis;
  readonly records: Records;
  readonly logger: Logger;
  readonly own: Life['own'];
}

/**
 * Opens it. In the database it begins as the file is.
 *
 * @throws {ConfigError} for a file with mistakes that is to be imported
 */
export async function openConfiguration(options: OpenOptions): Promise<OpenConfiguration> {
  const { config, env } = options;
  const path = config.GATEWAY_CONFIG;
  if (config.CONFIGURATION_SOURCE === 'database') return openStored(options);
  const readBase = async () => ({ text: await readConfigurationText({ path, env }), number: null });
  const draft = createDraft({ path, readBase });
  return { draft, readBase, readSealed: async () => ({}), stored: undefined, revisions: null };
}

/** What it needs is loaded only where the database has the configuration. */
async function openStored({
  config,
  env,
  redis,
  records,
  logger,
  own,
}: OpenOptions): Promise<OpenConfiguration> {
  const [
    { createSealedValues },
    { createStoredConfiguration },
    { createPublish, followRevisions },
    { createRevisions },
    { importFile },
  ] = await Promise.all([
    import('@gateway/upstream/configuration/stored/sealed-values'),
    import('@gateway/upstream/configuration/stored/stored-configuration'),
    import('./publish-revisions.ts'),
    import('./revisions.ts'),
    import('./import-file.ts'),
  ]);
  const path = config.GATEWAY_CONFIG;
  const store = records.revisions;
  const values = createSealedValues(config.GATEWAY_SECRET);
  const readBase = async () => {
    const latest = await store.latest();
    return { text: latest?.text ?? null, number: latest?.number ?? 0 };
  };
  const draft = createDraft({ path, readBase });
  await importFile({ store, values, draft, path, env });
  const isForeign = () => records.usage.trouble()?.kind === 'other database';
  const publish = createPublish({ redis, store, isForeign });
  // Where Redis is away the next round brings it.
  await publish().catch(() => undefined);
  own(followRevisions(publish), (opened) => opened.close());
  const stored = createStoredConfiguration({
    ...{ redis, env, gatewaySecret: config.GATEWAY_SECRET, placeholder: PLACEHOLDER },
    onProblem: (error) => logger.warn({ err: error }, 'the stored configuration'),
  });
  const readSealed = async () => (await store.latest())?.secrets ?? {};
  const revisions = createRevisions({ store, values, draft, publish });
  return { draft, readBase, readSealed, stored, revisions };
}
