import { z } from 'zod';
import type { RecordedMessage, StoredMessage } from '../../../protocols/messages/reply/message-recorder.ts';
import { IdOrigin } from '../../../stored/origins/id-origins.ts';
import type { Maker } from '../../../stored/origins/maker.ts';
import type {
  Claim,
  ConversationStore,
  PutResult,
  StoredItem,
} from '../../../stored/store/conversation-store.ts';
import { holdClaim } from '../../../stored/store/held-claim.ts';
import type { NewItem } from '../../../stored/store/window-nodes.ts';
import type { ConversationSpace } from '../../../stored/stored-conversations.ts';
import type { JsonObject } from '../../../wire/json-object.ts';
import type { FixedMembers } from './fixed-members.ts';
import { messageItem } from './turn-body.ts';
import type { ThreadContext } from './whole-request.ts';

/** A thread is kept for an hour after its last turn, in milliseconds. */
const RETENTION_MS = 3_600_000;

/** Who keeps a thread as well, and under which name of the model. */
const Keeper = IdOrigin.pick({ channel: true, account: true, model: true });
export type Keeper = z.infer<typeof Keeper>;

const ServedBy = IdOrigin.pick({ channel: true, account: true });

const ThreadData = z.object({
  fixed: z.record(z.string(), z.string()),
  keeper: Keeper.nullable(),
  /** Absent in threads that were stored before it was. */
  servedBy: ServedBy.nullable().default(null),
  system: z.unknown(),
  tools: z.unknown(),
});

/** A thread as it is after one of its replies. */
export interface StoredThread extends Pick<ThreadContext, 'system' | 'tools'> {
  readonly fixed: FixedMembers;
  /** The messages so far, with the reply that is continued as the last of them. */
  readonly messages: readonly StoredItem[];
  /** Of the messages, in bytes. */
  readonly sizeBytes: number;
  /** Null where only the gateway keeps it. */
  readonly keeper: Keeper | null;
  /** Who gave its last reply. */
  readonly servedBy: Maker | null;
  readonly isContinued: boolean;
}

export interface NewTurn {
  /** The reply that it continues; null for the first turn. */
  readonly previous: string | null;
  readonly messages: readonly NewItem[];
  readonly reply: RecordedMessage | StoredMessage;
  readonly thread: Pick<StoredThread, 'fixed' | 'keeper' | 'servedBy' | 'system' | 'tools'>;
}

/** An owner's threads. */
export interface ThreadRecords {
  readonly owner: string;
  /** Null where the thread is unknown, has expired, or is another owner's. */
  find(messageId: string): Promise<StoredThread | null>;
  /** The right to continue a reply, until it is released; null where another request has it. */
  claim(messageId: string, delivery: string | null): Promise<Pick<Claim, 'release'> | null>;
  put(turn: NewTurn): Promise<PutResult>;
}

/** No id of a message is longer. */
const MAX_ID_CHARACTERS = 512;

export const threadRecords = (
  store: ConversationStore,
  { owner, maxBytes }: ConversationSpace,
): ThreadRecords => ({
  owner,
  find: async (id) => {
    if (!isId(id)) return null;
    const found = await store.read(
      { owner, kind: 'message', id },
      { retentionMs: RETENTION_MS, items: 'window' },
    );
    if (found === null || found.record.missing !== null) return null;
    const { fixed, keeper, servedBy, system, tools } = ThreadData.parse(found.record.data);
    return {
      fixed,
      keeper,
      servedBy,
      system,
      tools,
      messages: found.items,
      sizeBytes: found.record.bytes,
      isContinued: found.record.continuedBy !== null,
    };
  },
  claim: (id, delivery) => holdClaim(store, owner, `message:${id.slice(0, MAX_ID_CHARACTERS + 1)}`, delivery),
  put: ({ previous, messages, reply, thread }) => {
    const { fixed, keeper, servedBy, system = null, tools = null } = thread;
    const data: JsonObject = { fixed, keeper, servedBy, system, tools };
    return store.put({
      owner,
      kind: 'message',
      id: reply.id,
      ...(previous !== null && { previous, once: true }),
      input: messages,
      output: ['item' in reply ? reply.item : messageItem({ role: 'assistant', content: reply.content })],
      data,
      retentionMs: RETENTION_MS,
      maxBytes,
    });
  },
});

/** What is no id names nothing. */
const isId = (id: string): boolean => id.length <= MAX_ID_CHARACTERS && !id.includes('\0');
