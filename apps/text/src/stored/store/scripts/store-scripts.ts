import { readFileSync } from 'node:fs';
import type { Redis, Result } from 'ioredis';

type Argument = string | number;

declare module 'ioredis' {
  interface RedisCommander<Context> {
    gatewayPutRecord(keyCount: number, ...args: Argument[]): Result<string[], Context>;
    gatewayReadRecord(keyCount: number, ...args: Argument[]): Result<(string | number)[] | null, Context>;
    gatewayReadItems(keyCount: number, ...args: Argument[]): Result<(string | number | null)[], Context>;
    gatewayRemoveRecord(keyCount: number, ...args: Argument[]): Result<[number, ...string[]], Context>;
    gatewaySweepRecords(keyCount: number, ...args: Argument[]): Result<[number, ...string[]], Context>;
    gatewayAnnounceFiles(keyCount: number, ...args: Argument[]): Result<number, Context>;
    gatewayChangeClaim(keyCount: number, ...args: Argument[]): Result<number, Context>;
  }
}

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');

/** Each command's file. The prelude precedes all but the last. */
const COMMANDS = {
  gatewayPutRecord: 'put',
  gatewayReadRecord: 'read',
  gatewayReadItems: 'read-items',
  gatewayRemoveRecord: 'remove',
  gatewaySweepRecords: 'sweep',
  gatewayAnnounceFiles: 'announce',
} as const;

export function defineStoreScripts(redis: Redis): void {
  const prelude = read('./prelude.lua');
  for (const [command, file] of Object.entries(COMMANDS))
    redis.defineCommand(command, { lua: prelude + read(`./${file}.lua`) });
  redis.defineCommand('gatewayChangeClaim', { lua: read('./change-claim.lua') });
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
