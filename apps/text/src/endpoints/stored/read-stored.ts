import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import { findResponse } from '../../call/history/continued.ts';
import { ownersOf } from '../../call/history/conversation-space.ts';
import { notFound } from '../../call/history/not-found.ts';
import type { TextServices } from '../../call/request/text-call.ts';
import { inThread } from '../../large/in-thread.ts';
import { columnsInTurns } from '../../large/item-columns.ts';
import { bufferOf } from '../../large/shared-bytes.ts';
import { framesAfter, replyFrames } from '../../protocols/responses/stream/reply-frames.ts';
import { makerName } from '../../stored/origins/maker.ts';
import type { PendingResponse } from '../../stored/pending-responses.ts';
import {
  dataOf,
  isFinal,
  originIn,
  outputItems,
  type ResponseOrigin,
  responseOf,
} from '../../stored/response-record.ts';
import { listedItems } from '../../stored/shown-item.ts';
import type { StoredItem, StoredRecord, WindowEnd } from '../../stored/store/conversation-store.ts';
import { JsonBytes } from '../../stored/store/record-data.ts';
import { type JsonObject, objectOf } from '../../wire/json-object.ts';
import { parseBody } from '../../wire/raw-json.ts';
import { itemPage } from './item-page.ts';
import { areLarge, type Shown, shownList } from './shown.ts';

/** A response that the gateway has a record for. */
export interface StoredResponse {
  readonly owner: string;
  readonly id: string;
  readonly record: StoredRecord;
}

type StoringServices = Pick<TextServices, 'conversations' | 'upstream' | 'metrics'>;

export async function findStored(
  services: StoringServices,
  identity: Pick<Identity, 'keyId' | 'team'>,
  id: string,
): Promise<StoredResponse | null> {
  const rules = services.upstream.configuration.conversations;
  return findResponse(services, ownersOf(identity, rules), id, rules);
}

/** The same by its owner, which may be any that the caller's key represents. */
export async function findOwned(
  { conversations }: TextServices,
  owner: string,
  id: string,
): Promise<StoredResponse | null> {
  const found = await conversations.read({ owner, kind: 'response', id }, { retentionMs: null });
  return found && { owner, id, record: found.record };
}

const keyOf = ({ owner, id }: StoredResponse) => ({ owner, kind: 'response', id }) as const;

/** Null: the response was deleted, has expired or was lost since it was found. */
const readItems = async (services: StoringServices, stored: StoredResponse, items: 'input' | 'output') =>
  (await services.conversations.read(keyOf(stored), { retentionMs: null, items }))?.items ?? null;

/** @throws {GatewayError} `object_not_found` where it is gone */
async function itemsOf(
  services: StoringServices,
  stored: StoredResponse,
  items: 'input' | 'output',
): Promise<readonly StoredItem[]> {
  const found = await readItems(services, stored, items);
  if (found === null) throw responseNotFound(stored.id);
  return found;
}

export const responseNotFound = (id: string): GatewayError =>
  notFound({ kind: 'response', id, path: ['id'] });

/** The response as its caller got it. */
export async function readStored(services: TextServices, stored: StoredResponse): Promise<JsonObject> {
  const shown = await shownStored(services, stored);
  return objectOf(Buffer.isBuffer(shown) ? parseBody(shown.toString()) : shown);
}

/** The same for a caller. */
export const shownStored = (services: TextServices, stored: StoredResponse): Promise<Shown> =>
  writtenAs(services, stored, null, (response) => response);

/** The same as the stream that it was, or may have been, from an event on. */
export const storedFrames = (
  services: TextServices,
  stored: StoredResponse,
  after: number,
): Promise<readonly string[] | Buffer> =>
  writtenAs(services, stored, after, (response) => framesAfter(replyFrames(response) ?? [], after));

async function writtenAs<Written>(
  services: TextServices,
  stored: StoredResponse,
  after: number | null,
  write: (response: JsonObject) => Written,
): Promise<Written | Buffer> {
  const output = await itemsOf(services, stored, 'output');
  const { data } = stored.record;
  const members = Object.entries(data);
  const large = members.flatMap(([name, value]) =>
    value instanceof JsonBytes ? [{ name, bytes: value.bytes }] : [],
  );
  if (large.length === 0 && !areLarge(output)) return write(responseOf(data, output));
  const small = members.filter(([, value]) => !(value instanceof JsonBytes));
  const task = {
    data: JSON.stringify(Object.fromEntries(small)),
    large,
    output: await columnsInTurns(output),
    after,
  };
  return bufferOf(await inThread('stored', task, { owner: stored.owner }));
}

/** Forgets the response everywhere, with the ids that it brought. */
export async function removeStored(services: TextServices, stored: StoredResponse): Promise<void> {
  const output = (await readItems(services, stored, 'output')) ?? [];
  await services.conversations.remove(keyOf(stored));
  const ids = [
    { kind: 'response', id: stored.id } as const,
    ...output.map(({ id }) => ({ kind: 'item', id }) as const),
  ];
  await Promise.all(ids.map((id) => services.origins.forget(id).catch(() => undefined)));
}

/** How a response was made that was stored before. */
export interface Made {
  readonly origin: ResponseOrigin;
  /** The stored items that its input follows, beside those of an earlier response. */
  readonly after: WindowEnd | null;
}

/** Stores how a response has ended that was under way when it was stored. Resolves to whether it could. */
export async function completeStored(
  services: StoringServices,
  stored: StoredResponse,
  shown: JsonObject,
  { origin, after }: Made = { origin: originIn(stored.record.data), after: null },
): Promise<boolean> {
  const { owner, id, record } = stored;
  const { retentionMs, maxBytesPerKey } = services.upstream.configuration.conversations;
  const result = await services.conversations.put({
    owner,
    kind: 'response',
    id,
    ...(record.previous !== null && { previous: record.previous }),
    ...(after !== null && { after }),
    expects: record.head,
    input: await itemsOf(services, stored, 'input'),
    output: outputItems(shown, makerName(origin)),
    data: dataOf(shown, origin),
    retentionMs,
    maxBytes: maxBytesPerKey,
  });
  services.metrics.stored(result);
  return result === 'stored';
}

/** Stores how background responses have ended that nobody reads. What fails is stored when one is read. */
export const storeEnding =
  (services: StoringServices) =>
  async ({ id, subject }: PendingResponse, shown: JsonObject): Promise<void> => {
    const stored = await findStored(services, subject, id).catch(() => null);
    if (stored === null || isFinal(stored.record.data)) return;
    await completeStored(services, stored, shown).catch(() => undefined);
  };

const MAX_DIGITS = 9;

/** The number of the last event that a caller has: -1 for none. @throws {GatewayError} for what is no number of an event */
export function startingAfter(query: URLSearchParams): number {
  const value = query.get('starting_after');
  if (value === null) return -1;
  if (/^\d+$/.test(value) && value.length <= MAX_DIGITS) return Number(value);
  throw new GatewayError('invalid_type', {
    path: ['starting_after'],
    message: "'starting_after' must be the sequence number of an event: a whole number from 0.",
  });
}

/** The page of a response's own input items that a query names. */
export async function listInput(
  services: TextServices,
  stored: StoredResponse,
  query: unknown,
): Promise<Shown> {
  const input = await itemsOf(services, stored, 'input');
  const { page, members } = itemPage(listedItems(input), query);
  return shownList(page, members, stored.owner);
}
