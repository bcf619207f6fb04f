import { ContentRecord } from '@gateway/contracts/content-log';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { MAX_CALLER_NAME_LENGTH } from '@gateway/contracts/usage/caller-names';
import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import type { Actor } from '@gateway/metering/audit/audit-log';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import type { ContentReader, Whose } from '@gateway/model-service/content-log/content-reader';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../../api/admin-route.ts';
import { instant } from '../../api/schemas/page.ts';
import type { ReadConfiguration } from '../../configuration/read-configuration.ts';
import { eraseContent } from '../../requests/erase-content.ts';
import type { FindRequest } from '../../requests/find-request.ts';
import {
  type ConversationRecords,
  type ConversationTurn,
  readConversation,
} from '../../requests/read-conversation.ts';
import type { Principal } from '../../sessions/authenticate.ts';

export interface ContentRoutesOptions {
  readonly find: FindRequest;
  readonly content: ContentReader;
  readonly usage: ConversationRecords;
  readonly now: () => number;
  readonly readConfiguration: ReadConfiguration;
  /** Writes to the log of changes who read or deleted the content of a request. */
  readonly note: (
    action: 'content.read' | 'content.deleted',
    record: UsageRecord,
    by: Actor,
    more?: { readonly session: string; readonly requests: readonly string[] },
  ) => Promise<void>;
  /** The same for all content of a key or an end user. */
  readonly noteErased: (whose: Whose, by: Actor) => Promise<void>;
}

/** As the log has it; what was asked and answered is in the protocol of its endpoint. */
const ContentReply = z.strictObject(ContentRecord.omit({ version: true }).shape);
const ConversationReply = z.strictObject({
  session: z.string(),
  /** In the order in which they ended. */
  turns: z.array(
    z.strictObject({
      id: z.string(),
      requestId: z.string().nullable(),
      startedAt: instant,
      model: z.string(),
      outcome: z.string(),
      /** Null: it is not in the content log, or not any more. */
      content: ContentReply.nullable(),
    }),
  ),
  /** There are earlier turns: those that are shown are as many, or as long, as one answer takes. */
  hasEarlier: z.boolean(),
});
const ErasureQuery = z.strictObject({
  keyId: z.string().min(1).max(MAX_CALLER_NAME_LENGTH).optional(),
  endUser: z.string().min(1).max(MAX_CALLER_NAME_LENGTH).optional(),
  /** `next` of the call before. */
  cursor: z.string().max(MAX_CALLER_NAME_LENGTH).optional(),
});
/** `next` is the `cursor` of the call that goes on; null when all has been looked at. */
const ErasureReply = z.strictObject({ deleted: z.int(), next: z.string().nullable() });
/** Erasures that nobody has gone on with: what is forgotten of them is a further entry of the audit log. */
const MAX_GOING_ON = 1000;
const DeletedReply = z.strictObject({ id: z.string(), deleted: z.int() });

/** What one request asked and was answered, where it is logged. Each reading stands in the log of changes before it is answered. */
export function contentRoutes({
  find,
  content,
  usage,
  now,
  readConfiguration,
  note,
  noteErased,
}: ContentRoutesOptions): AdminRoute[] {
  const foundRecord = async (id: string, { scope }: Principal) => {
    const record = await awaitRedis(find(id, scope));
    if (record !== null) return record;
    throw new GatewayError('object_not_found', `There is no record of the request '${id}'.`);
  };
  const loggedRecord = async (id: string, principal: Principal) => {
    const record = await foundRecord(id, principal);
    const { contentObject, contentOmitted } = record.detail ?? {};
    if (contentObject === undefined)
      throw new GatewayError('object_not_found', NOT_LOGGED[contentOmitted ?? 'off']);
    return { record, object: contentObject };
  };

  /** Where erasures go on that this process has begun: a cursor that anybody else has made up is a call of its own. */
  const goingOn = new Set<string>();
  const placeOf = (whose: Whose, { who }: Actor, cursor: string | null) =>
    JSON.stringify([whose, who, cursor]);

  return [
    adminRoute({
      method: 'GET',
      path: '/admin/v1/requests/{id}/content',
      summary:
        "What a request asked and was answered, if the content log has it. Each reading is an entry of the audit log; roles other than admin need the configuration's permission",
      query: NO_QUERY,
      body: NO_BODY,
      reply: ContentReply,
      handle: async ({ parameter: id, principal, by }) => {
        await checkReader(principal, readConfiguration);
        const { record, object } = await loggedRecord(id, principal);
        const found = (await content.find(object, [record.id])).get(record.id);
        if (found === undefined) throw new GatewayError('object_not_found', GONE);
        await note('content.read', record, by);
        return shownContent(found);
      },
    }),
    adminRoute({
      method: 'GET',
      path: '/admin/v1/requests/{id}/conversation',
      summary:
        "What the requests of a request's session asked and were answered, as far as the content log has them: those of its key, the newest. One entry of the audit log names all that were read",
      query: NO_QUERY,
      body: NO_BODY,
      reply: ConversationReply,
      handle: async ({ parameter: id, principal, by }) => {
        await checkReader(principal, readConfiguration);
        const record = await foundRecord(id, principal);
        const { session } = record;
        if (session === undefined) throw new GatewayError('object_not_found', NO_SESSION);
        const { turns, hasEarlier } = await readConversation(
          { usage, content, now, scope: principal.scope },
          { ...record, session },
        );
        const read = turns.flatMap((turn) => (turn.content === null ? [] : [turn.record.id]));
        if (read.length > 0) await note('content.read', record, by, { session, requests: read });
        return { session, turns: turns.map(shownTurn), hasEarlier };
      },
    }),
    adminRoute({
      method: 'DELETE',
      path: '/admin/v1/requests/{id}/content',
      summary: 'Delete what the content log has of a request',
      query: NO_QUERY,
      body: NO_BODY,
      reply: DeletedReply,
      handle: async ({ parameter: id, principal, by }) => {
        const { record, object } = await loggedRecord(id, principal);
        await note('content.deleted', record, by);
        // A line that is on its way to its object is kept from it.
        const found = await content.find(object, [record.id]);
        const deleted = Math.max(found.size, await content.remove(new Map([[object, [record.id]]])));
        if (deleted === 0) throw new GatewayError('object_not_found', GONE);
        return { id: record.id, deleted };
      },
    }),
    adminRoute({
      method: 'DELETE',
      path: '/admin/v1/content',
      summary:
        "Delete what the content log has of a key or of an end user. One call deletes as much as it can in some seconds: call it with 'next' as 'cursor' until that is null. The first call is an entry of the audit log",
      query: ErasureQuery,
      body: NO_BODY,
      reply: ErasureReply,
      handle: async ({ query: { cursor = null, ...query }, by }) => {
        const whose = whoseIn(query);
        if (!goingOn.delete(placeOf(whose, by, cursor))) await noteErased(whose, by);
        const part = await eraseContent({ usage, content, now }, whose, cursor);
        if (goingOn.size >= MAX_GOING_ON) goingOn.clear();
        if (part.next !== null) goingOn.add(placeOf(whose, by, part.next));
        return part;
      },
    }),
  ];
}

/** @throws {GatewayError} for a query that names nobody, or two */
function whoseIn({ keyId, endUser }: z.infer<typeof ErasureQuery>): Whose {
  if (keyId !== undefined && endUser === undefined) return { keyId };
  if (endUser !== undefined && keyId === undefined) return { endUser };
  throw new GatewayError('invalid_value', "Whose content? Send either 'keyId' or 'endUser'.");
}

function shownContent({ version: _, ...shown }: ContentRecord): z.infer<typeof ContentReply> {
  return shown;
}

const shownTurn = ({
  record,
  content,
}: ConversationTurn): z.infer<typeof ConversationReply>['turns'][number] => ({
  id: record.id,
  requestId: record.requestId ?? null,
  startedAt: new Date(record.startedAtMs).toISOString(),
  model: record.model,
  outcome: record.outcome,
  content: content && shownContent(content),
});

const NO_SESSION =
  "This request names no session, so the gateway does not know its conversation. Callers name it with the header 'x-gateway-session'.";

const NOT_LOGGED = {
  off: 'The content of this request was not logged: no rule of the content log applied to it.',
  share: 'The content of this request was not logged: it was not in the share of requests that are logged.',
  caller: 'The content of this request was not logged: its caller opted out.',
} as const;

const GONE =
  'The content of this request is not in the content log. It is written within a minute of the end of the request; after that it has expired, was deleted, or was lost before it was written.';

/** @throws {GatewayError} `endpoint_not_allowed` for a role that the configuration does not let read */
async function checkReader({ role }: Principal, readConfiguration: ReadConfiguration): Promise<void> {
  if (role === 'admin') return;
  const readers: readonly string[] = (await readConfiguration())?.contentLog?.readers ?? [];
  if (readers.includes(role)) return;
  throw new GatewayError(
    'endpoint_not_allowed',
    `Your role (${role}) may not read the content of requests. An operator can allow it with 'contentLog.readers' in the configuration.`,
  );
}
