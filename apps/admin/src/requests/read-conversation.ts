import type { ContentRecord } from '@gateway/contracts/content-log';
import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import type { ContentReader } from '@gateway/model-service/content-log/content-reader';
import type { UsageStore } from '@gateway/records/usage/usage-store';
import { type Scope, seesUsage } from '../sessions/scope.ts';

/** Requests of a conversation that one answer holds, and characters of their content. The newest are shown. */
const MAX_TURNS = 50;
const MAX_CHARACTERS = 8_000_000;

export type ConversationRecords = Pick<UsageStore, 'newest'>;

export interface ConversationTurn {
  readonly record: UsageRecord;
  /** Null: it is not in the content log, or not any more. */
  readonly content: ContentRecord | null;
}

interface Conversation {
  /** In the order in which they ended. */
  readonly turns: readonly ConversationTurn[];
  readonly hasEarlier: boolean;
}

interface ReadFrom {
  readonly usage: ConversationRecords;
  readonly content: Pick<ContentReader, 'find'>;
  readonly now: () => number;
  readonly scope: Scope;
}

/** The requests of a key's session, with what the content log has of them. Other keys may have sessions of the same name. */
export async function readConversation(
  { usage, content, now, scope }: ReadFrom,
  { keyId, session }: { readonly keyId: string; readonly session: string },
): Promise<Conversation> {
  const isSeen = seesUsage(scope);
  const { records, next } = await awaitRedis(
    usage.newest({
      ...{ fromMs: 0, toMs: now() + 1, after: undefined, limit: MAX_TURNS },
      ...{ only: { keyId }, names: { session } },
      whose: (whose) => isSeen({ ...whose, team: whose.team || null }),
    }),
  );
  const turns: ConversationTurn[] = [];
  let left = MAX_CHARACTERS;
  for (const part of byObject(records)) {
    const found = await readPart(content, part);
    for (const record of part.records) {
      const one = found.get(record.id) ?? null;
      left -= one === null ? 0 : JSON.stringify(one).length;
      // At least one is shown, however long it is.
      if (left < 0 && turns.length > 0) return { turns: turns.toReversed(), hasEarlier: true };
      turns.push({ record, content: one });
    }
  }
  return { turns: turns.toReversed(), hasEarlier: next !== null };
}

interface Part {
  readonly object: string | null;
  readonly records: UsageRecord[];
}

/** Records that follow one another in one object: it is read once for them. */
function byObject(records: readonly UsageRecord[]): readonly Part[] {
  const parts: Part[] = [];
  for (const record of records) {
    const object = record.detail?.contentObject ?? null;
    const last = parts.at(-1);
    if (last?.object === object) last.records.push(record);
    else parts.push({ object, records: [record] });
  }
  return parts;
}

const readPart = async (
  content: ReadFrom['content'],
  { object, records }: Part,
): Promise<ReadonlyMap<string, ContentRecord>> =>
  object === null
    ? new Map()
    : content.find(
        object,
        records.map(({ id }) => id),
      );
