import { ContentRecord } from '@gateway/contracts/content-log';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import type { Actor } from '@gateway/metering/audit/audit-log';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import type { ContentReader } from '@gateway/model-service/content-log/content-reader';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../../api/admin-route.ts';
import type { ReadConfiguration } from '../../configuration/read-configuration.ts';
import type { FindRequest } from '../../requests/find-request.ts';
import type { Principal } from '../../sessions/authenticate.ts';

export interface ContentRoutesOptions {
  readonly find: FindRequest;
  readonly content: ContentReader;
  readonly readConfiguration: ReadConfiguration;
  /** Writes to the log of changes who read or deleted the content of a request. */
  readonly note: (
    action: 'content.read' | 'content.deleted',
    record: UsageRecord,
    by: Actor,
  ) => Promise<void>;
}

/** As the log has it; what was asked and answered is in the protocol of its endpoint. */
const ContentReply = z.strictObject(ContentRecord.omit({ version: true }).shape);
const DeletedReply = z.strictObject({ id: z.string(), deleted: z.int() });

/** What one request asked and was answered, where it is logged. Each reading stands in the log of changes before it is answered. */
export function contentRoutes({
  find,
  content,
  readConfiguration,
  note,
}: ContentRoutesOptions): AdminRoute[] {
  const loggedRecord = async (id: string, { scope }: Principal) => {
    const record = await awaitRedis(find(id, scope));
    if (record === null)
      throw new GatewayError('object_not_found', `There is no record of the request '${id}'.`);
    const { contentObject, contentOmitted } = record.detail ?? {};
    if (contentObject === undefined)
      throw new GatewayError('object_not_found', NOT_LOGGED[contentOmitted ?? 'off']);
    return { record, object: contentObject };
  };

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
        const found = await content.find(object, record.id);
        if (found === null) throw new GatewayError('object_not_found', GONE);
        await note('content.read', record, by);
        const { version: _, ...shown } = found;
        return shown;
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
        const deleted = await content.remove(object, [record.id]);
        if (deleted === 0) throw new GatewayError('object_not_found', GONE);
        return { id: record.id, deleted };
      },
    }),
  ];
}

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
