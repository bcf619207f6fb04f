import { createBringBack } from '@gateway/conversations/asks';
import {
  defineStoreScripts,
  movedBytes,
  OWNERS,
  storeNames,
  sums,
} from '@gateway/conversations/store-scripts';
import type { Redis } from 'ioredis';
import { originKey, originTtlSeconds, rememberedIds } from '../origins/id-origins.ts';
import { takeClaim } from './claims.ts';
import type {
  ConversationStore,
  NewRecord,
  PutResult,
  ReadOptions,
  RecordKey,
  StoredItem,
  StoredRecord,
} from './conversation-store.ts';
import type { ItemJson } from './item-json.ts';
import { createKnownDigests } from './known-digests.ts';
import type { PartFiles } from './part-files.ts';
import { createPartStore, inGroups } from './part-store.ts';
import { createPutBatch } from './put-batch.ts';
import { hashedData, holdsBytes, joinedData, splitData } from './record-data.ts';
import { unavailable } from './unavailable.ts';
import { inlineTexts, itemIdOf, nodeNamedBy, type WindowNode, windowNodes } from './window-nodes.ts';

interface ConversationStoreOptions {
  readonly redis: Redis;
  readonly files: PartFiles;
  /** How long received ids can be found, in seconds. */
  readonly idTtlSeconds: number;
}

/** No provider's ids are as long. */
const MAX_ID_CHARACTERS = 512;
/** Of one record: all of them are stored in one script call. */
const MAX_ITEMS = 10_000;
/** What one script reads, so that no other command waits for long. */
const ITEMS_PER_READ = 500;
/** Records that one script removes, and owners that are looked at in one go. */
const [RECORDS_PER_SWEEP, OWNERS_PER_SWEEP] = [50, 100];

const keyOf = ({ kind, id }: Pick<RecordKey, 'kind' | 'id'>): string => `${kind}:${id}`;

/** The id in a record's key; null for the empty key. */
const idIn = (key: unknown): string | null => {
  const text = String(key ?? '');
  return text === '' ? null : text.slice(text.indexOf(':') + 1);
};

/** An item, as the recorder is asked for it. */
const namesOfItem = (id: string): readonly string[] => {
  const node = nodeNamedBy(id);
  return node === '' ? [`item:${id}`] : [`item:${id}`, `node:${node}`];
};

const RESULTS: Readonly<Record<string, PutResult>> = {
  stored: 'stored',
  full: 'full',
  previous: 'previous-not-found',
  continued: 'continued',
  changed: 'changed',
  taken: 'taken',
};

/** Keeps conversations in Redis, and their large parts in files. */
export function createConversationStore(options: ConversationStoreOptions): ConversationStore {
  const { redis, files, idTtlSeconds } = options;
  const known = createKnownDigests();
  const scripts = defineStoreScripts(redis);
  const parts = createPartStore(redis, files, scripts);
  const putRecord = createPutBatch(redis, scripts.put);
  const bringBack = createBringBack(redis);

  /** Reads again what the database may have, after it was asked for. */
  const again = async <Result>(owner: string, names: readonly string[], work: () => Promise<Result>) => {
    await bringBack(owner, names).catch(unavailable);
    return work();
  };

  /** `trusting`: what this process has seen kept is not sent. Null where some of that is gone. */
  const tryPut = async (
    record: NewRecord,
    { nodes, data }: Prepared,
    trusting: boolean,
  ): Promise<PutResult | Moved | null> => {
    const { owner, previous, after, received, once, writer, expects, retentionMs, maxBytes } = record;
    const isKnown = (digest: string) => trusting && known.has(digest);
    const from = nodes.findLastIndex(({ node }) => isKnown(node)) + 1;
    const sent = nodes.slice(from);
    const large = new Map<string, Buffer>();
    for (const part of [...sent.map((node) => node.part), ...data.large])
      if (part !== null && !isKnown(part.digest)) large.set(part.digest, part.bytes);
    const ids = rememberedIds(received?.ids ?? []);
    const base = from === 0 ? (after?.head ?? '') : nodes[from - 1]?.node;
    const order = {
      key: keyOf(record),
      previous: previous === undefined ? '' : keyOf({ kind: record.kind, id: previous }),
      once,
      writer,
      expects,
      retentionMs: retentionMs ?? '',
      maxBytes,
      after: after?.head ?? '',
      base,
      inputHead: nodes[record.input.length - 1]?.node ?? after?.head ?? '',
      head: nodes.at(-1)?.node ?? after?.head ?? '',
      items: nodes.length + (after?.items ?? 0),
      bytes: nodes.reduce((sum, { sizeBytes }) => sum + sizeBytes, after?.bytes ?? 0),
      parts: data.large.map(({ digest }) => digest),
      uploads: await parts.upload(owner, large),
      ids: ids.map((id) => originTtlSeconds(id, idTtlSeconds)),
      keyId: received?.origin.keyId,
      ownId: ids.findIndex(({ kind, id }) => kind === record.kind && id === record.id) + 1,
    };
    const texts = inlineTexts(sent);
    const keys = [...storeNames(owner), ...ids.map(originKey)];
    const [result = '', ...unused] = await putRecord(
      keys,
      owner,
      JSON.stringify(order),
      data.text,
      ids.length === 0 ? '' : JSON.stringify(received?.origin),
      texts instanceof Promise ? await texts : texts,
      ...sent.flatMap(({ node, parent, id, maker, part, sizeBytes }) => [
        node,
        parent,
        id,
        maker,
        part?.digest ?? '',
        part === null ? sizeBytes : 0,
      ]),
    );
    if (result === 'stored') {
      known.add(sent.map(({ node }) => node));
      known.add(large.keys());
    }
    // What is not removed now is removed by a sweep.
    const left = result === 'stored' ? unused : Object.values(order.uploads).map(({ name }) => name);
    void parts.remove(owner, left).catch(() => undefined);
    if (result === 'moved') return { moved: unused[0] ?? '' };
    return RESULTS[result] ?? null;
  };

  const itemOf = async ([
    node = '',
    id = '',
    maker = '',
    json = '',
    file = '',
  ]: readonly string[]): Promise<StoredItem> => {
    const text = file === '' ? json : await parts.json(file);
    return { id: id === '' ? itemIdOf(node, text) : id, json: text, maker: maker === '' ? null : maker };
  };

  return {
    put: async (record) => {
      checkIds(record);
      const { owner, previous, after, input, output } = record;
      if (input.length + output.length > MAX_ITEMS) return 'full';
      const start = { owner, after: after?.head ?? '', previous: previous ?? '' };
      const made = windowNodes(start, [...input, ...output]);
      const nodes = made instanceof Promise ? await made : made;
      const isLarge = holdsBytes(Object.values(record.data));
      const data = isLarge ? await hashedData(owner, record.data) : record.data;
      const prepared = { nodes, data: splitData(owner, data) };
      const attempt = async () =>
        (await tryPut(record, prepared, true)) ?? (await tryPut(record, prepared, false));
      const first = await attempt();
      const result = isMoved(first) ? await again(owner, [first.moved], attempt) : first;
      if (result === null) throw new Error('a conversation that a record follows is gone');
      // Redis can take another owner's for the moved one.
      if (isMoved(result)) return result.moved === keyOf(record) ? 'taken' : 'previous-not-found';
      return result;
    },

    read: async (key, { retentionMs, items: choice }: ReadOptions) => {
      const { owner } = key;
      const keys = storeNames(owner);
      const found: string[][] = [];
      let at: readonly [string, string] = ['', ''];
      for (;;) {
        const args = [owner, keyOf(key), retentionMs ?? '', choice ?? 'none', ITEMS_PER_READ, ...at];
        const look = () => scripts.read(keys, ...args).catch(unavailable);
        const first = await look();
        const reply = first?.length === 0 ? await again(owner, [keyOf(key)], look) : first;
        if (reply === null || reply.length === 0) return null;
        const texts = reply.map(String);
        const [missing = '', , , , , , , , , atRecord = '', atNode = '', ...values] = texts;
        for (let index = 0; index < values.length; index += 5) found.push(values.slice(index, index + 5));
        at = [atRecord, atNode];
        if (atRecord !== '') continue;
        const record = await recordOf(texts, parts.json);
        const isBroken = choice === 'window' ? missing !== '' : missing === keyOf(key);
        const whole = isBroken ? [] : found.reverse();
        return { record, items: await inGroups(whole, itemOf) };
      }
    },

    hasItems: async (owner, ids) => {
      const named = ids.flatMap((id) => [id, nodeNamedBy(id)]);
      const values = await scripts.readItems(storeNames(owner), owner, ...named).catch(unavailable);
      return ids.map((_, at) => (values[at * 5] ?? null) !== null);
    },

    items: async (owner, ids, maxBytes, { onlyHere = false } = {}) => {
      if (ids.length === 0) return [];
      const keys = storeNames(owner);
      const unique = [...new Set(ids)];
      const named = unique.flatMap((id) => [id, nodeNamedBy(id)]);
      const look = () => scripts.readItems(keys, owner, ...named).catch(unavailable);
      const first = await look();
      const missing = unique.filter((_, at) => (first[at * 5] ?? null) === null);
      const mayBeMoved = first.length > unique.length * 5 && !onlyHere;
      const values = mayBeMoved ? await again(owner, missing.flatMap(namesOfItem), look) : first;
      const found = new Map(unique.map((id, at) => [id, values.slice(at * 5, at * 5 + 5)]));
      const bytes = ids.reduce((sum, id) => sum + Number(found.get(id)?.[4] ?? 0), 0);
      if (bytes > maxBytes) return null;
      const items = await inGroups([...found], async ([id, [own = null, ...rest]]) => {
        if (own === null) return null;
        const [maker, json, file] = rest.map((value) => String(value ?? ''));
        return itemOf([nodeNamedBy(id), String(own), maker ?? '', json ?? '', file ?? '']);
      });
      const byId = new Map(unique.map((id, at) => [id, items[at] ?? null]));
      return ids.map((id) => byId.get(id) ?? null);
    },

    remove: async (key) => {
      const { owner } = key;
      const keys = storeNames(owner);
      const attempt = () => scripts.remove(keys, owner, keyOf(key)).catch(unavailable);
      const first = await attempt();
      const [removed, ...unused] = first[0] === -1 ? await again(owner, [keyOf(key)], attempt) : first;
      await parts.remove(owner, unused).catch(unavailable);
      return removed === 1;
    },

    claim: (owner, name, leaseMs, token) =>
      takeClaim(redis, scripts.changeClaim, { owner, name, leaseMs, token }),

    usedBytes: async (owner) => {
      const here = redis.hget(sums(owner), 'bytes');
      const [bytes, moved] = await Promise.all([here, redis.get(movedBytes(owner))]).catch(unavailable);
      return Number(bytes ?? 0) + Number(moved ?? 0);
    },

    sweep: async () => {
      let removed = 0;
      const owners = await redis.zrangebyscore(OWNERS, '-inf', Date.now(), 'LIMIT', 0, OWNERS_PER_SWEEP);
      for (const owner of owners) {
        const keys = storeNames(owner);
        for (let count = RECORDS_PER_SWEEP; count >= RECORDS_PER_SWEEP; removed += count) {
          const swept = await scripts.sweep(keys, owner, RECORDS_PER_SWEEP);
          const [sweptRecords, ...unused] = swept;
          count = sweptRecords;
          await parts.remove(owner, unused);
        }
      }
      return removed;
    },
  };
}

/** The key of a record that the database has to bring back first. */
interface Moved {
  readonly moved: string;
}

const isMoved = (result: PutResult | Moved | null): result is Moved =>
  typeof result === 'object' && result !== null;

interface Prepared {
  readonly nodes: readonly WindowNode[];
  readonly data: ReturnType<typeof splitData>;
}

/** The members of a record, in the order in which its script gives them. */
async function recordOf(
  values: readonly string[],
  jsonIn: (file: string) => Promise<ItemJson>,
): Promise<StoredRecord> {
  const [missing, previous, depth, items, bytes, head = '', next, data = '', large = ''] = values;
  const names = large === '' ? [] : large.split(' ');
  return {
    missing: idIn(missing),
    previous: idIn(previous),
    depth: Number(depth),
    items: Number(items),
    bytes: Number(bytes),
    head,
    continuedBy: idIn(next),
    data: joinedData(data, await Promise.all(names.map(jsonIn))),
  };
}

/** Ids are a provider's words; one of these would be taken for another's. */
function checkIds({ id, previous = '' }: NewRecord): void {
  for (const text of [id, previous])
    if (text.length > MAX_ID_CHARACTERS || text.includes('\0')) throw new Error('an id that is no id');
}
