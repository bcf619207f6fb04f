import { defineScript, readScript } from '@gateway/redis/define-script';
import type { Redis } from 'ioredis';
import { z } from 'zod';

const fileOf = (name: string): URL => new URL(name, import.meta.url);
const PRELUDE = fileOf('./prelude.lua');

/** Not looked at one by one: a record may have thousands. */
const Values = z.custom<(string | number | null)[]>(Array.isArray);
const CountAndFiles = z.tuple([z.number()], z.string());

/** The scripts of the store, defined on a connection; each takes an owner's names as its first keys. */
export type StoreScripts = ReturnType<typeof defineStoreScripts>;

export function defineStoreScripts(redis: Redis) {
  const define = <Reply>(name: `gateway${string}`, file: string, reply: z.ZodType<Reply>) =>
    defineScript(redis, name, readScript(PRELUDE, fileOf(file)), reply);
  return {
    put: define('gatewayPutRecord', './put.lua', z.array(z.string())),
    read: define('gatewayReadRecord', './read.lua', Values.nullable()),
    readItems: define('gatewayReadItems', './read-items.lua', Values),
    remove: define('gatewayRemoveRecord', './remove.lua', CountAndFiles),
    sweep: define('gatewaySweepRecords', './sweep.lua', CountAndFiles),
    announce: define('gatewayAnnounceFiles', './announce.lua', z.number()),
    changeClaim: defineScript(
      redis,
      'gatewayChangeClaim',
      readScript(fileOf('./change-claim.lua')),
      z.number(),
    ),
  };
}

const STORE = 'gateway:store';

/** Owners that have something, by when it is swept next. */
export const OWNERS = `${STORE}:owners`;

const OWNED = ['records', 'nodes', 'references', 'items', 'parts', 'trees', 'expiry', 'sums', 'unused-files'];

/** The names that every script takes, in the order of the prelude. */
export const storeNames = (owner: string): readonly string[] => [
  ...OWNED.map((name) => `${STORE}:{${owner}}:${name}`),
  OWNERS,
];

export const sums = (owner: string): string => `${STORE}:{${owner}}:sums`;
export const unusedFiles = (owner: string): string => `${STORE}:{${owner}}:unused-files`;
export const claimName = (owner: string, name: string): string => `${STORE}:{${owner}}:claim:${name}`;
