import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import { defineScript } from '@gateway/redis/define-script';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { type ReportBroken, readStored } from '../broken-records.ts';
import { loadScript } from '../load-script.ts';
import { keyNames } from '../redis-names.ts';
import { parseTeamRecord, type TeamRecord } from '../teams/team-record.ts';
import { awaitRedis } from './await-redis.ts';
import { identityOf, type KeyRecord, validUntilMs } from './key-record.ts';

/** A valid key's owner, and until when it stays valid by itself, in Unix milliseconds (Infinity for ever). */
export interface FoundKey {
  readonly identity: Identity;
  readonly expiresAtMs: number;
}

const FIND_KEY = loadScript(new URL('./find-key.lua', import.meta.url));
/** The key's id, its record, and its team's. */
const Found = z.array(z.string());

interface FindKeyOptions {
  readonly redis: Redis;
  readonly now: () => number;
  /** A key's record from its stored text; undefined if it cannot be read. */
  readonly read: (id: string, text: string) => KeyRecord | undefined;
  readonly onBroken: ReportBroken;
}

/** Finds the valid key by the keyed hash of its secret: one call of Redis, which also reads the key's team. */
export function createFindKey({
  redis,
  now,
  read,
  onBroken,
}: FindKeyOptions): (secretHash: string) => Promise<FoundKey | undefined> {
  const find = defineScript(redis, 'gatewayFindKey', FIND_KEY, Found);
  /** A key is refused while the limits of its team cannot be read. */
  const teamOf = ({ team }: KeyRecord, text: string | undefined): TeamRecord | undefined => {
    if (team === null || text === undefined) return undefined;
    const record = readStored(text, parseTeamRecord, { kind: 'team', id: team }, onBroken);
    if (record !== undefined) return record;
    throw new GatewayError('service_unavailable', {
      message: `The gateway cannot read the limits of your team '${team}'. Contact the person who gave you the key.`,
      retry: false,
    });
  };
  return async (secretHash: string): Promise<FoundKey | undefined> => {
    const [id, text, team] = await awaitRedis(
      find([keyNames.idOfHash(secretHash)], keyNames.recordPrefix, keyNames.teamPrefix),
    );
    if (id === undefined || text === undefined) return undefined;
    const record = read(id, text);
    if (record === undefined) return undefined;
    const expiresAtMs = validUntilMs(record, secretHash, now());
    if (expiresAtMs === undefined) return undefined;
    return { identity: identityOf(record, teamOf(record, team)), expiresAtMs };
  };
}
