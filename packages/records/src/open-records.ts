import { ConfigError } from '@gateway/contracts/config-error';
import type { BrokenRecord } from '@gateway/metering/broken-records';
import type { AccessRecords } from '@gateway/metering/keys/records/access-records';
import { createProjection } from '@gateway/metering/keys/records/projection';
import { within } from '@gateway/redis/within';
import type { Redis } from 'ioredis';
import { createAccessStore } from './access/access-store.ts';
import { createAuditReader, type ReadAudit } from './audit/read-audit.ts';
import { createRevisionStore, type RevisionStore } from './configuration/revision-store.ts';
import type { MovedCounts } from './conversations/conversation-mover.ts';
import { type ConversationCounts, countConversations } from './conversations/count-conversations.ts';
import { databaseAway } from './database/await-database.ts';
import { type DatabaseSettings, openDatabase } from './database/open-database.ts';
import { createPeopleStore, type PeopleStore } from './people/people-store.ts';
import { createRecorder, type Recorder, type RecorderEvent } from './recorder/recorder.ts';
import { createUsageStore, type UsageStore } from './usage/usage-store.ts';

interface OpenRecordsOptions {
  readonly redis: Redis;
  /** Another connection, which blocks. */
  readonly asks: Redis;
  readonly settings: DatabaseSettings & {
    readonly USAGE_RECORDS_DAYS: number;
    readonly USAGE_SUMS_DAYS: number;
    readonly GATEWAY_TIME_ZONE: string;
    readonly CONVERSATIONS_MOVE_AFTER_SECONDS: number;
  };
  readonly now: () => number;
  /** Makes what must be among the keys before any is looked up. It may be called again. */
  readonly prepareAccess?: ((access: AccessRecords) => Promise<void>) | undefined;
  readonly onBroken: (broken: BrokenRecord) => void;
  readonly report: (event: RecorderEvent) => void;
}

/** Usage in the database, and the recorder that brings it there. */
export type Usage = UsageStore & Pick<Recorder, 'trouble'>;

/** Stored responses, conversations and messages of threads. */
export interface StoredConversations {
  /** Trees that were moved since the start of this process. */
  readonly moved: MovedCounts;
  /** How many there are, and where. @throws what Redis or the database throws */
  count(): Promise<ConversationCounts>;
}

/** What lasts. */
export interface Records {
  readonly usage: Usage;
  /** Keys and teams. */
  readonly access: AccessRecords;
  readonly people: PeopleStore;
  /** Of the configuration, where the database has it. */
  readonly revisions: RevisionStore;
  readonly readAudit: ReadAudit;
  readonly conversations: StoredConversations;
  readonly recordedUntilMs: Recorder['recordedUntilMs'];
}

/** How long a start, and a call, waits for keys that are still read over. */
const OPENING_MS = 5000;

/**
 * Opens the database and begins to record, and to keep in Redis what it has from the database.
 *
 * @throws {ConfigError} where the database cannot be used, or Redis is in use by a gateway with another one
 */
export async function openRecords({
  redis,
  asks,
  settings,
  now,
  prepareAccess,
  onBroken,
  report,
}: OpenRecordsOptions): Promise<Records & AsyncDisposable> {
  const opened = await openDatabase(settings);
  const { database } = opened;
  const recorder = createRecorder({
    redis,
    opened,
    timeZone: settings.GATEWAY_TIME_ZONE,
    now,
    keepRecordsDays: settings.USAGE_RECORDS_DAYS,
    keepSumsDays: settings.USAGE_SUMS_DAYS,
    conversations: { asks, moveAfterMs: settings.CONVERSATIONS_MOVE_AFTER_SECONDS * 1000 },
    // It opens the access before it prepares it.
    prepareAccess: prepareAccess && (() => prepareAccess(access)),
    onBroken,
    report,
  });
  const close = async (): Promise<void> => {
    await recorder[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  };
  let isOpen = false;
  void recorder.accessOpened.then(() => {
    isOpen = true;
  });
  const access = createAccessStore({
    database,
    projection: createProjection(redis),
    now,
    opened: async () => {
      if (!isOpen) await openedInTime(recorder.accessOpened);
    },
  });
  // What is started next can look keys up, where a database and a Redis that answer need no longer.
  await within(OPENING_MS, Promise.race([recorder.accessFilled, recorder.round()]), () => undefined);
  const trouble = recorder.trouble();
  if (trouble?.kind === 'other database') {
    await close();
    throw new ConfigError(trouble.reason);
  }
  return {
    usage: { ...createUsageStore({ database, redis, now, onBroken }), trouble: recorder.trouble },
    access,
    people: createPeopleStore({ database, now }),
    revisions: createRevisionStore({ database, now }),
    readAudit: createAuditReader({ database, redis, onBroken }),
    conversations: {
      moved: recorder.movedCounts,
      count: () => countConversations({ redis, database }),
    },
    recordedUntilMs: recorder.recordedUntilMs,
    [Symbol.asyncDispose]: close,
  };
}

/** @throws {GatewayError} where it takes longer */
async function openedInTime(opened: Promise<void>): Promise<void> {
  const isLate = await within(
    OPENING_MS,
    opened.then(() => false),
    () => true,
  );
  if (isLate) throw databaseAway('It does not have all keys and teams yet.');
}
