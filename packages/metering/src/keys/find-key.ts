import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import { defineScript } from '@gateway/redis/define-script';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { type ReportBroken, readStored } from '../broken-records.ts';
import { loadScript } from '../load-script.ts';
import { keyNames, redisNames } from '../redis-names.ts';
import { parseTeamRecord, type TeamRecord } from '../teams/team-record.ts';
import { awaitRedis } from './await-redis.ts';
import { identityOf, type KeyRecord, parseKeyRecord, validUntilMs } from './key-record.ts';
import { hashOf, isPlausibleSecret } from './key-secret.ts';
import { NotFilled } from './not-filled.ts';

/** A valid key's owner, and until when it stays valid by itself, in Unix milliseconds (Infinity for ever). */
export interface FoundKey {
  readonly identity: Identity;
  readonly expiresAtMs: number;
}

const FIND_KEY = loadScript(new URL('./find-key.lua', import.meta.url));
/** The key's id, its record, and its team's; an empty id where nobody knows. */
const Found = z.array(z.string());

/**
 * Finds valid keys in what Redis has of them: one call, which also reads the key's team. A record that cannot be read is reported,
 * and counts as absent.
 */
export interface KeyFinder {
  /**
   * The valid key that has this secret, with its team's account; undefined if unknown, revoked, disabled or expired.
   *
   * @throws {NotFilled} where Redis was emptied, and nobody knows whether there is one
   * @throws {GatewayError} `service_unavailable` when Redis does not answer
   */
  findKey(secret: string): Promise<FoundKey | undefined>;
  /** The same by the keyed hash of its secret, for processes that must not have the secret itself. */
  findKeyByHash(secretHash: string): Promise<FoundKey | undefined>;
}

interface KeyFinderOptions {
  readonly redis: Redis;
  /** GATEWAY_SECRET: without it, nobody can test secrets against the stored hashes. */
  readonly gatewaySecret: string;
  readonly now: () => number;
  readonly onBroken?: ReportBroken;
}

export function createKeyFinder({
  redis,
  gatewaySecret,
  now,
  onBroken = () => undefined,
}: KeyFinderOptions): KeyFinder {
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
  const findKeyByHash = async (secretHash: string): Promise<FoundKey | undefined> => {
    const [id, text, team] = await awaitRedis(
      find([keyNames.idOfHash(secretHash), redisNames.epoch], keyNames.recordPrefix, keyNames.teamPrefix),
    );
    if (id === '') throw new NotFilled();
    if (id === undefined || text === undefined) return undefined;
    const record = readStored(text, parseKeyRecord, { kind: 'key', id }, onBroken);
    if (record === undefined) return undefined;
    const expiresAtMs = validUntilMs(record, secretHash, now());
    if (expiresAtMs === undefined) return undefined;
    return { identity: identityOf(record, teamOf(record, team)), expiresAtMs };
  };
  return {
    findKey: async (secret) =>
      isPlausibleSecret(secret) ? findKeyByHash(hashOf(secret, gatewaySecret)) : undefined,
    findKeyByHash,
  };
}
