import { createKeyFinder, type KeyFinder } from '@gateway/metering/keys/find-key';
import { createKeyStore, type KeyStore } from '@gateway/metering/keys/key-store';
import { createProjection } from '@gateway/metering/keys/records/projection';
import { createTeamStore, type TeamStore } from '@gateway/metering/teams/team-store';
import { createAccessStore } from '@gateway/records/access/access-store';
import type { Database } from '@gateway/records/database/database';
import { type DatabaseSettings, openDatabase } from '@gateway/records/database/open-database';
import { createPeopleStore, type PeopleStore } from '@gateway/records/people/people-store';
import type { Redis } from 'ioredis';
import { GATEWAY_SECRET } from './run-admin.ts';

/** Keys and teams of an admin service, also before it is started. */
export interface OpenedAccess extends AsyncDisposable {
  readonly keys: KeyStore & KeyFinder;
  readonly teams: TeamStore;
  readonly people: PeopleStore;
  readonly database: Database;
}

export async function openAccess(redis: Redis, settings: DatabaseSettings): Promise<OpenedAccess> {
  const { database } = await openDatabase(settings);
  const now = Date.now;
  const opened = () => Promise.resolve();
  const records = createAccessStore({ database, projection: createProjection(redis), now, opened });
  const options = { redis, records, gatewaySecret: GATEWAY_SECRET, now };
  return {
    keys: { ...createKeyStore(options), ...createKeyFinder(options) },
    teams: createTeamStore(options),
    people: createPeopleStore({ database, now }),
    database,
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}
