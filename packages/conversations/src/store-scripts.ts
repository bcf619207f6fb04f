import { hash } from 'node:crypto';
import { defineScript, readScript } from '@gateway/redis/define-script';
import type { Redis } from 'ioredis';
import { z } from 'zod';

const fileOf = (name: string): URL => new URL(`./scripts/${name}.lua`, import.meta.url);
const PRELUDE = fileOf('prelude');

/** Not looked at one by one: a record may have thousands. */
const Values = z.custom<(string | number | null)[]>(Array.isArray);
const CountAndFiles = z.tuple([z.number()], z.string());

/** The scripts of the store, defined on a connection; each takes an owner's names as its first keys. */
export type StoreScripts = ReturnType<typeof defineStoreScripts>;

export function defineStoreScripts(redis: Redis) {
  const define = <Reply>(name: `gateway${string}`, file: string, reply: z.ZodType<Reply>) =>
    defineScript(redis, name, readScript(PRELUDE, fileOf(file)), reply);
  return {
    put: define('gatewayStoreRecord', 'put', z.array(z.string())),
    read: define('gatewayReadRecord', 'read', Values.nullable()),
    readItems: define('gatewayReadItems', 'read-items', Values),
    remove: define('gatewayRemoveRecord', 'remove', CountAndFiles),
    sweep: define('gatewaySweepRecords', 'sweep', CountAndFiles),
    announce: define('gatewayAnnounceFiles', 'announce', z.number()),
    changeClaim: defineScript(redis, 'gatewayChangeClaim', readScript(fileOf('change-claim')), z.number()),
  };
}

/** The scripts that bring trees to the database and back; those that write take who may, as their last key. */
export type MoveScripts = ReturnType<typeof defineMoveScripts>;

export function defineMoveScripts(redis: Redis) {
  const define = <Reply>(name: `gateway${string}`, file: string, reply: z.ZodType<Reply>) =>
    defineScript(redis, name, readScript(PRELUDE, fileOf(file)), reply);
  return {
    listCold: define('gatewayListColdTrees', 'list-cold', z.array(z.string())),
    exportTree: define('gatewayExportTree', 'export', z.array(z.coerce.string())),
    exportNodes: define('gatewayExportNodes', 'export-nodes', z.array(z.coerce.string())),
    readParts: define('gatewayReadParts', 'read-parts', z.array(z.string())),
    moveOut: define('gatewayMoveTreeOut', 'move-out', z.number()),
    bringBack: define('gatewayBringTreeBack', 'bring-back', z.number()),
    forgetMoved: define('gatewayForgetMoved', 'forget-moved', z.number()),
  };
}

const STORE = 'gateway:store';

/** Owners that have something, by when it is swept next. */
export const OWNERS = `${STORE}:owners`;

/** Owners that have something, by the time before which no tree of theirs was used last. */
export const USERS = `${STORE}:users`;
/** What is in the database, by `movedMember`. */
export const MOVED = `${STORE}:moved`;
/** In that set: none of what is in the database is missing from it. */
export const MOVED_IS_WHOLE = 'whole';
/** Moves that are not over, by `moveField`. */
export const MOVES = `${STORE}:moves`;
export const moveField = (owner: string, root: string): string => `${owner}\0${root}`;
/** Who may bring trees to the database and back: one recorder at a time. */
export const MOVER = `${STORE}:mover`;

const OWNED = ['records', 'nodes', 'references', 'items', 'parts', 'trees', 'expiry', 'sums', 'unused-files'];
const owned = (owner: string, name: string): string => `${STORE}:{${owner}}:${name}`;

/** The names that every script takes, in the order of the prelude. */
export const storeNames = (owner: string): readonly string[] => [
  ...OWNED.map((name) => owned(owner, name)),
  OWNERS,
  uses(owner),
  USERS,
  movedBytes(owner),
  MOVED,
  MOVES,
];

/** The pattern of the names of all owners' records. */
export const ALL_RECORDS = owned('*', 'records');
/** The owner in the name of what it has. */
export const ownerOf = (name: string): string => name.slice(STORE.length + 2, name.lastIndexOf('}'));

export const records = (owner: string): string => owned(owner, 'records');
export const uses = (owner: string): string => owned(owner, 'uses');
export const movedBytes = (owner: string): string => owned(owner, 'moved-bytes');

const MEMBER_CHARACTERS = 14;

/** What stands in the set `MOVED` for a text, as the prelude says. */
export const movedMember = (text: string): string => hash('sha1', text, 'hex').slice(0, MEMBER_CHARACTERS);

/** What a record counts beside its data, and a node beside its item's text, in bytes; the prelude has the same. */
export const OVERHEAD_BYTES = 150;

export const sums = (owner: string): string => `${STORE}:{${owner}}:sums`;
export const unusedFiles = (owner: string): string => `${STORE}:{${owner}}:unused-files`;
export const claimName = (owner: string, name: string): string => `${STORE}:{${owner}}:claim:${name}`;
