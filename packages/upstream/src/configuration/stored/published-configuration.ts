import { createHash } from 'node:crypto';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { defineScript } from '@gateway/redis/define-script';
import type { Redis } from 'ioredis';
import { z } from 'zod';

/** The configuration of the database as Redis has it for the services. */
export const PublishedConfiguration = z.object({
  /** The revision's. */
  number: z.int(),
  atMs: z.int(),
  text: z.string(),
  /** Values of variables that the text names, sealed. */
  secrets: z.record(z.string(), z.string()),
});
export type PublishedConfiguration = z.infer<typeof PublishedConfiguration>;

/** Hash: `version` changes with the content, so that processes read it only after a change; `content` is JSON. */
const PUBLISHED = 'gateway:configuration';

const PUBLISH = `
local version = redis.call('HGET', KEYS[1], 'version') or ''
if version ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'content', ARGV[3])
return 1
`;

/** What names a content: two with the same one are the same. */
export const versionOf = (content: PublishedConfiguration): string =>
  `${content.number}-${createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 16)}`;

/** Every call rejects while Redis is away. */
export interface ConfigurationPublisher {
  /** Null: nothing is published. */
  version(): Promise<string | null>;
  /** Null: nothing is published, or nothing that this version of the gateway can read. */
  read(): Promise<PublishedConfiguration | null>;
  /** False where another version than this one is there by now. */
  publish(content: PublishedConfiguration, over: string | null): Promise<boolean>;
}

export function createConfigurationPublisher(redis: Redis): ConfigurationPublisher {
  const publish = defineScript(redis, 'gatewayPublishConfiguration', PUBLISH, z.number());
  return {
    version: () => redis.hget(PUBLISHED, 'version'),
    read: async () => {
      const content = await redis.hget(PUBLISHED, 'content');
      return content === null ? null : parsePublished(content);
    },
    publish: async (content, over) => {
      const published = await publish([PUBLISHED], over ?? '', versionOf(content), JSON.stringify(content));
      return published === 1;
    },
  };
}

export const parsePublished = (text: string): PublishedConfiguration | null =>
  PublishedConfiguration.safeParse(jsonIn(text)).data ?? null;
