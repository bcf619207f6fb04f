import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Environment } from '@gateway/contracts/environment';
import type { Redis } from 'ioredis';
import { openedEnvironment } from './opened-environment.ts';
import {
  createConfigurationPublisher,
  type PublishedConfiguration,
  parsePublished,
  versionOf,
} from './published-configuration.ts';
import { createSealedValues } from './sealed-values.ts';

/** A configuration's text that is stored in the database. */
export interface StoredText {
  readonly text: string;
  /** Changes whenever the text does, or a value that is sealed beside it. */
  readonly revision: string;
  /** The number of the revision. */
  readonly number: number;
  readonly atMs: number;
  /** The environment with the values that are sealed beside the text. */
  readonly env: Environment;
}

interface StoredConfigurationOptions {
  readonly redis: Redis;
  readonly env: Environment;
  /** Opens what is sealed. Absent: such variables count as not set. */
  readonly gatewaySecret: string | undefined;
  /** Stands for variables that `env` does not have, inside of sealed values. */
  readonly placeholder?: string;
  /** The file in which the last one is kept, for a start with a Redis that was emptied; sealed values stay sealed there. Absent: none. */
  readonly copyPath?: string;
  /** Where the copy cannot be written. */
  readonly onProblem: (error: unknown) => void;
}

export interface StoredConfiguration {
  /** As it is now; the last one known where Redis has none or does not answer. Null: there has been none so far. */
  read(): Promise<StoredText | null>;
}

/** The configuration that the admin service publishes in Redis from the database. */
export function createStoredConfiguration(options: StoredConfigurationOptions): StoredConfiguration {
  const { env, gatewaySecret, placeholder, copyPath, onProblem } = options;
  const publisher = createConfigurationPublisher(options.redis);
  const values = gatewaySecret === undefined ? null : createSealedValues(gatewaySecret);
  let last: StoredText | null = null;

  const opened = (content: PublishedConfiguration): StoredText => {
    return {
      text: content.text,
      number: content.number,
      atMs: content.atMs,
      revision: versionOf(content),
      env: openedEnvironment({ secrets: content.secrets, values, env, placeholder }),
    };
  };

  const copied = async (): Promise<StoredText | null> => {
    if (copyPath === undefined) return null;
    const content = parsePublished(await readFile(copyPath, 'utf8').catch(() => ''));
    return content && opened(content);
  };

  return {
    read: async () => {
      const version = await publisher.version().catch(() => null);
      if (version !== null && version !== last?.revision) {
        const content = await publisher.read().catch(() => null);
        if (content !== null) {
          last = opened(content);
          if (copyPath !== undefined) await writeWhole(copyPath, JSON.stringify(content)).catch(onProblem);
        }
      }
      last ??= await copied();
      return last;
    },
  };
}

/** Processes that share the folder may write at the same time: each file that is read is whole. */
async function writeWhole(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const beside = `${path}.${randomUUID()}`;
  await writeFile(beside, text, { mode: 0o600 });
  await rename(beside, path);
}
