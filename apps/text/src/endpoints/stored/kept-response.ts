import type { ServerResponse } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import type { RequestContext } from '@gateway/service-kit/request/request-context';
import { eventStreamHead } from '../../call/attempts/reply-head.ts';
import { findResponse } from '../../call/history/continued.ts';
import { ownersOf } from '../../call/history/conversation-space.ts';
import type { TextServices } from '../../call/request/text-call.ts';
import { replyFrames } from '../../protocols/responses/stream/reply-frames.ts';
import type { StoredRecord, WindowEnd } from '../../stored/conversations/conversation-store.ts';
import {
  dataOf,
  isFinal,
  originIn,
  outputItems,
  type ResponseOrigin,
  responseOf,
} from '../../stored/kept-response.ts';
import { makerName } from '../../stored/origins/maker.ts';
import type { PendingResponse } from '../../stored/pending-responses.ts';
import { listedItems, shownItem } from '../../stored/shown-item.ts';
import type { JsonObject } from '../../wire/json-object.ts';
import { itemPage } from './item-page.ts';

/** A response that the gateway has a record for. */
export interface KeptResponse {
  readonly owner: string;
  readonly id: string;
  readonly record: StoredRecord;
}

type KeepingServices = Pick<TextServices, 'conversations' | 'upstream' | 'metrics'>;

export async function findKept(
  services: KeepingServices,
  identity: Pick<Identity, 'keyId' | 'team'>,
  id: string,
): Promise<KeptResponse | null> {
  const rules = services.upstream.configuration.conversations;
  return findResponse(services, ownersOf(identity, rules), id, rules);
}

/** The same by its owner, which may be any that the caller's key represents. */
export async function findOwned(
  { conversations }: TextServices,
  owner: string,
  id: string,
): Promise<KeptResponse | null> {
  const found = await conversations.read({ owner, kind: 'response', id }, { retentionMs: null });
  return found && { owner, id, record: found.record };
}

const keyOf = ({ owner, id }: KeptResponse) => ({ owner, kind: 'response', id }) as const;

const itemsOf = async (services: KeepingServices, kept: KeptResponse, items: 'input' | 'output') =>
  (await services.conversations.read(keyOf(kept), { retentionMs: null, items }))?.items ?? [];

/** The response as its caller got it. */
export const readKept = async (services: TextServices, kept: KeptResponse): Promise<JsonObject> =>
  responseOf(kept.record.data, await itemsOf(services, kept, 'output'));

/** Forgets the response everywhere, with the ids that it brought. */
export async function removeKept(services: TextServices, kept: KeptResponse): Promise<void> {
  const output = await itemsOf(services, kept, 'output');
  await services.conversations.remove(keyOf(kept));
  const ids = [
    { kind: 'response', id: kept.id } as const,
    ...output.map(({ id }) => ({ kind: 'item', id }) as const),
  ];
  await Promise.all(ids.map((id) => services.origins.forget(id).catch(() => undefined)));
}

/** How a response was made that was kept before. */
export interface Made {
  readonly origin: ResponseOrigin;
  /** The kept items that its input follows, beside those of an earlier response. */
  readonly after: WindowEnd | null;
}

/** Keeps how a response has ended that was under way when it was kept. Resolves to whether it could. */
export async function completeKept(
  services: KeepingServices,
  kept: KeptResponse,
  shown: JsonObject,
  { origin, after }: Made = { origin: originIn(kept.record.data), after: null },
): Promise<boolean> {
  const { owner, id, record } = kept;
  const { retentionMs, maxBytesPerKey } = services.upstream.configuration.conversations;
  const result = await services.conversations.put({
    owner,
    kind: 'response',
    id,
    ...(record.previous !== null && { previous: record.previous }),
    ...(after !== null && { after }),
    expects: record.head,
    input: await itemsOf(services, kept, 'input'),
    output: outputItems(shown, makerName(origin)),
    data: dataOf(shown, origin),
    retentionMs,
    maxBytes: maxBytesPerKey,
  });
  services.metrics.kept(result);
  return result === 'stored';
}

/** Keeps how background responses have ended that nobody reads. What fails is kept when one is read. */
export const keepEnding =
  (services: KeepingServices) =>
  async ({ id, subject }: PendingResponse, shown: JsonObject): Promise<void> => {
    const kept = await findKept(services, subject, id).catch(() => null);
    if (kept === null || isFinal(kept.record.data)) return;
    await completeKept(services, kept, shown).catch(() => undefined);
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

/** Writes a response as the stream that it was, or may have been, from an event on. */
export function streamKept(
  response: ServerResponse,
  context: RequestContext,
  kept: JsonObject,
  startingAfter: number,
): void {
  const frames = replyFrames(kept)?.split('\n\n').slice(0, -1) ?? [];
  const shown = frames.filter((frame) => {
    const number = /"sequence_number":(\d+)/.exec(frame)?.[1];
    return number === undefined || Number(number) > startingAfter;
  });
  response.writeHead(200, eventStreamHead(context));
  response.end(shown.map((frame) => `${frame}\n\n`).join(''));
}

/** The page of a response's own input items that a query names. */
export async function listInput(
  services: TextServices,
  kept: KeptResponse,
  query: unknown,
): Promise<JsonObject> {
  const input = await itemsOf(services, kept, 'input');
  const { page, members } = itemPage(listedItems(input), query);
  return { object: 'list', data: page.map(shownItem), ...members };
}
