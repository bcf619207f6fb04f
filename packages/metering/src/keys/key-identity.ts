import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import type { Redis } from 'ioredis';
import { type ReportBroken, readStored } from '../broken-records.ts';
import { keyNames } from '../redis-names.ts';
import { parseTeamRecord } from '../teams/team-record.ts';
import { awaitRedis } from './await-redis.ts';
import { identityOf, parseKeyRecord } from './key-record.ts';
import { checkFilled } from './not-filled.ts';

interface ReaderOptions {
  readonly redis: Redis;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly onBroken: ReportBroken;
}

/**
 * What a key may do now, for work that goes on without its caller. Undefined for a key that is unknown, revoked, disabled or expired.
 *
 * @throws {GatewayError} `service_unavailable` when Redis does not answer or was emptied, or its team's limits cannot be read
 */
export type ReadKeyIdentity = (keyId: string) => Promise<Identity | undefined>;

export const createKeyIdentityReader =
  ({ redis, now, onBroken }: ReaderOptions): ReadKeyIdentity =>
  async (keyId) => {
    const text = await awaitRedis(redis.get(keyNames.record(keyId)));
    if (text === null) await checkFilled(redis);
    const record =
      text === null ? undefined : readStored(text, parseKeyRecord, { kind: 'key', id: keyId }, onBroken);
    if (record === undefined || record.revokedAt !== null || record.disabled) return undefined;
    if (record.expiresAt !== null && Date.parse(record.expiresAt) <= now()) return undefined;
    const { team } = record;
    const teamText = team === null ? null : await awaitRedis(redis.get(keyNames.team(team)));
    if (team === null || teamText === null) return identityOf(record, undefined);
    const teamRecord = readStored(teamText, parseTeamRecord, { kind: 'team', id: team }, onBroken);
    if (teamRecord === undefined)
      throw new GatewayError('service_unavailable', {
        message: `The gateway cannot read the limits of your team '${team}'. Contact the person who gave you the key.`,
        retry: false,
      });
    return identityOf(record, teamRecord);
  };
