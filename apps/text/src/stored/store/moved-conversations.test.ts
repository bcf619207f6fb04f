import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openAssetStores } from '@gateway/assets/open-asset-stores';
import { createRecorder, type Recorder } from '@gateway/records/recorder/recorder';
import { type UsedDatabase, useDatabase } from '@gateway/records/testing/use-database';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import type { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createIdOrigins, type IdOrigins } from '../origins/id-origins.ts';
import type { ConversationStore, NewRecord, RecordKind } from './conversation-store.ts';
import { parseItem } from './item-json.ts';
import { partFilesIn } from './part-files.ts';
import { createConversationStore } from './redis-conversation-store.ts';

/** What was not used for some hours is in the database, and comes back when it is named. */

const OWNER = 'key_one';
const HOUR_MS = 3_600_000;
/** Whether a command is a step of a move: a script that takes who may move as its last key. */
const isOfMove = ({ name, args }: { readonly name: string; readonly args: readonly unknown[] }): boolean =>
  name.startsWith('eval') && Number(args[1]) === 16;
const Rows = z.array(z.record(z.string(), z.union([z.string(), z.number(), z.null()])));
const PATIENT = { timeoutMs: 120_000 };
const DEAD = new Error('dead');
const LARGE = 'x'.repeat(20_000);

const message = (text: string, id: string | null = null) => ({
  id,
  json: JSON.stringify({ ...(id !== null && { id }), role: 'user', content: text }),
});

const record = (id: string, rest: Partial<NewRecord> = {}): NewRecord => ({
  owner: OWNER,
  kind: 'response',
  id,
  input: [message(`question of ${id}`)],
  output: [message(`answer of ${id}`, `msg_of_${id}`)],
  data: { model: 'm', 'gateway:origin': origin() },
  retentionMs: 24 * HOUR_MS,
  maxBytes: 0,
  ...rest,
});

const origin = (keyId = OWNER) => ({ keyId, channel: 'c', model: 'm', requestedModel: 'm' });
/** The ids of a response that its provider stores too. */
const received = (id: string, keyId = OWNER) => ({
  ids: [
    { kind: 'response', id },
    { kind: 'item', id: `msg_of_${id}` },
  ] as const,
  origin: origin(keyId),
});

const key = (id: string, owner = OWNER, kind: RecordKind = 'response') => ({ owner, kind, id });

describe.for(['sqlite', 'postgres'] as const)('on %s', { timeout: 300_000 }, (dialect) => {
  const used: UsedDatabase = useDatabase(dialect, { serverOfItsOwn: dialect === 'postgres' });
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let store: ConversationStore;
  let origins: IdOrigins;
  const recorders: Recorder[] = [];
  const connections: Redis[] = [];
  /** How far the recorders' clocks are ahead. */
  let aheadMs: number;

  beforeEach(async () => {
    folder = await temporaryFolder();
    const stores = await openAssetStores({ url: folder.path });
    const files = partFilesIn(await stores.open('conversations'));
    store = createConversationStore({ redis: used.redis, files, idTtlSeconds: 3600 });
    origins = createIdOrigins({ redis: used.redis, ttlSeconds: 3600 });
    aheadMs = 0;
  });
  afterEach(async () => {
    await closeRecorders();
    await folder.close();
  });

  const filesLeft = () => readdir(join(folder.path, 'conversations')).catch(() => []);
  interface Trial {
    readonly afterWrite?: () => Promise<void>;
    /** It does nothing any more after so many steps: transactions that write, and commands before and after. */
    readonly death?: { readonly after: number; isDead: boolean };
  }
  const startRecorder = ({ afterWrite, death }: Trial = {}): Recorder => {
    let steps = 0;
    /** Whether it is dead now. */
    const dies = (): boolean => {
      steps += 1;
      if (death !== undefined && steps > death.after) death.isDead = true;
      return death?.isDead === true;
    };
    const redis = used.redis.duplicate();
    const sendCommand = redis.sendCommand.bind(redis);
    redis.sendCommand = (command, ...rest) => {
      const isMove = isOfMove(command);
      if (isMove ? dies() : death?.isDead === true) {
        command.promise.catch(() => undefined);
        command.reject(DEAD);
        return command.promise;
      }
      const answer = sendCommand(command, ...rest);
      return isMove
        ? Promise.resolve(answer).then((value) => (dies() ? Promise.reject(DEAD) : value))
        : answer;
    };
    const { database } = used;
    const tried: typeof database = {
      dialect: database.dialect,
      read: (work) => database.read(work),
      write: async (work) => {
        const isOfMoves = { is: false };
        if (death?.isDead === true) throw DEAD;
        const result = await database.write(({ query }) =>
          work({
            query: async (sql, values) => {
              isOfMoves.is ||= /^(insert|update|delete)\b.*stored_/s.test(sql);
              return query(sql, values);
            },
          }),
        );
        if (isOfMoves.is && dies()) throw DEAD;
        await afterWrite?.();
        return result;
      },
      [Symbol.asyncDispose]: async () => undefined,
    };
    const recorder = createRecorder({
      ...{ redis, opened: { ...used.opened, database: tried }, now: () => Date.now() + aheadMs },
      ...{ timeZone: 'UTC', keepRecordsDays: 90, keepSumsDays: 400, everyMs: 40 },
      conversations: { asks: used.redis.duplicate(), moveAfterMs: 6 * HOUR_MS },
      ...{ onBroken: () => undefined, report: () => undefined },
    });
    recorders.push(recorder);
    connections.push(redis);
    return recorder;
  };
  const closeRecorders = async () => {
    for (const recorder of recorders.splice(0)) await recorder[Symbol.asyncDispose]();
    for (const connection of connections.splice(0)) connection.disconnect();
  };
  const rows = async (table: string): Promise<number> => {
    const found = await used.database.read(({ query }) => query(`select count(*) as count from ${table}`));
    return Number(found[0]?.count);
  };
  const isSettled = async () => {
    const open = await used.database.read(({ query }) =>
      query('select root from stored_trees where phase <> 1'),
    );
    return open.length === 0 && (await used.redis.exists('gateway:store:moves')) === 0;
  };
  const areSettled = () => waitFor(isSettled);
  const isAllMoved = async () => (await used.redis.zcard('gateway:store:users')) === 0 && (await isSettled());
  /** Some hours pass, and everything is in the database. */
  const moveAll = async (recorder = recorders[0] ?? startRecorder()) => {
    aheadMs += 7 * HOUR_MS;
    await waitFor(isAllMoved, PATIENT);
    aheadMs -= 7 * HOUR_MS;
    return recorder;
  };
  const contents = async (id: string, items: 'input' | 'output' | 'window', from = store) => {
    // A machine that is busy may take longer than somebody waits for a recorder.
    const { found } = await waitFor(async () => {
      const read = from.read(key(id), { retentionMs: 24 * HOUR_MS, items });
      return read.then((one) => ({ found: one })).catch(() => undefined);
    }, PATIENT);
    return found?.items.map(({ json }) => Object(parseItem(json)).content);
  };
  const nodesHere = () => used.redis.hlen(`gateway:store:{${OWNER}}:nodes`);
  /** All of Redis that is about stored conversations. */
  const snapshot = async () => {
    const names = (await used.redis.keys('gateway:store:{*')).filter((name) => !name.endsWith(':uses'));
    const entries = await Promise.all(
      names.toSorted().map(async (name) => {
        const type = await used.redis.type(name);
        if (type === 'hash') {
          const { noted: _, ...fields } = await used.redis.hgetall(name);
          return [name, Object.keys(fields).toSorted(), name.endsWith('references') ? fields : null];
        }
        if (type === 'zset') return [name, (await used.redis.zrange(name, '0', '-1')).toSorted()];
        return [name, await used.redis.get(name)];
      }),
    );
    return entries.filter(([, fields]) => Array.isArray(fields) && fields.length > 0);
  };

  test('a chain of two hundred turns comes back as it was, and is continued, branched and deleted', async () => {
    for (let turn = 0; turn < 200; turn += 1)
      await store.put(record(`r${turn}`, turn === 0 ? {} : { previous: `r${turn - 1}` }));
    const before = await snapshot();
    const bytes = await store.usedBytes(OWNER);
    await moveAll();
    expect(await rows('stored_records')).toBe(200);
    expect(await nodesHere()).toBe(0);
    expect(await store.usedBytes(OWNER)).toBe(bytes);
    const window = await contents('r199', 'window');
    expect(window).toHaveLength(400);
    expect(window?.at(-1)).toBe('answer of r199');
    expect(await snapshot()).toEqual(before);
    expect(await rows('stored_nodes')).toBe(0);
    expect(await store.usedBytes(OWNER)).toBe(bytes);
    await moveAll();
    expect(await store.put(record('r200', { previous: 'r199' }))).toBe('stored');
    expect(await store.put(record('branch', { previous: 'r100' }))).toBe('stored');
    expect(await contents('branch', 'window')).toHaveLength(204);
    await moveAll();
    expect(await store.remove(key('r50'))).toBe(true);
    expect((await store.read(key('r200'), { retentionMs: null }))?.record.missing).toBe('r50');
    await moveAll();
    expect((await store.read(key('r200'), { retentionMs: null }))?.record.missing).toBe('r50');
    for (const id of ['branch', ...Array.from({ length: 201 }, (_, turn) => `r${turn}`)])
      await store.remove(key(id));
    expect(await store.usedBytes(OWNER)).toBe(0);
    expect(await nodesHere()).toBe(0);
    expect(await rows('stored_trees')).toBe(0);
  });

  test('a moved response takes at most 200 bytes of Redis', async () => {
    const count = 100;
    for (let n = 0; n < count; n += 1) {
      // As long as those of OpenAI.
      const id = `resp_${String(n).padStart(50, '0')}`;
      await store.put(record(id, { received: received(id) }));
    }
    await moveAll();
    const names = await used.redis.keys('*');
    const stored = names.filter((name) => /^gateway:(store|response|item):/.test(name));
    let bytes = 0;
    for (const name of stored) bytes += Number(await used.redis.memory('USAGE', name, 'SAMPLES', '0'));
    expect(bytes / count).toBeLessThanOrEqual(200);
    expect(await rows('stored_records')).toBe(count);
  });

  test('only what is in the database is asked for, and nobody waits for long where no recorder answers', async () => {
    expect(await store.read(key('unknown'), { retentionMs: null })).toBeNull();
    await store.put(record('r1', { received: received('r1') }));
    await moveAll();
    await closeRecorders();
    expect(await store.read(key('unknown'), { retentionMs: null })).toBeNull();
    expect(await store.remove(key('unknown'))).toBe(false);
    expect(await store.put(record('r2'))).toBe('stored');
    expect(await store.put(record('r3', { previous: 'unknown' }))).toBe('previous-not-found');
    expect(await used.redis.exists('gateway:store:asks')).toBe(0);
    const away = { code: 'service_unavailable', options: { retryAfterSeconds: 1 } };
    await expect(store.read(key('r1'), { retentionMs: null })).rejects.toMatchObject(away);
    // Who is silent is not waited for again.
    const startMs = performance.now();
    await expect(store.remove(key('r1'))).rejects.toMatchObject(away);
    expect(performance.now() - startMs).toBeLessThan(4000);
  });

  test('origins move with what they are of, and stay the key’s that received them first', async () => {
    const ids = received('r1').ids;
    const mine = { keyId: OWNER, owners: [OWNER] };
    const others = { keyId: 'key_two', owners: ['key_two'] };
    await store.put(record('r1', { received: received('r1') }));
    await moveAll();
    expect(await used.redis.exists('gateway:response:r1', 'gateway:item:msg_of_r1')).toBe(0);
    expect(await origins.find(ids, others)).toEqual(['foreign', 'foreign']);
    await origins.remember(ids, origin('key_two'));
    const taken = record('r1', { owner: 'key_two', received: received('r1', 'key_two') });
    expect(await store.put(taken)).toBe('taken');
    expect(await origins.find([{ kind: 'item', id: 'msg_of_r1' }], mine)).toEqual([origin()]);
    expect(await rows('stored_trees')).toBe(0);
    expect(await origins.find(ids, mine)).toEqual([origin(), origin()]);
    expect(await origins.find(ids, others)).toEqual(['foreign', 'foreign']);
    expect(await used.redis.ttl('gateway:response:r1')).toBeGreaterThan(3000);
  });

  test('a record with the id of a moved one is not stored in its place', async () => {
    await store.put(record('r1', { writer: 'one' }));
    await moveAll();
    expect(await store.put(record('r1', { writer: 'two', output: [message('another')] }))).toBe('taken');
    expect(await contents('r1', 'output')).toEqual(['answer of r1']);
  });

  test('items of what has moved are found by their ids, and conversations come back', async () => {
    const conversation = record('c1', { kind: 'conversation', retentionMs: null, output: [] });
    await store.put({ ...conversation, input: [message('one', 'msg_own'), message('two')] });
    const whole = await store.read(key('c1', OWNER, 'conversation'), { retentionMs: null, items: 'window' });
    const ids = whole?.items.map(({ id }) => id) ?? [];
    await moveAll();
    expect(await store.items(OWNER, ids, 0, { onlyHere: true })).toEqual([null, null]);
    const again = await store.items(OWNER, [ids[1] ?? '', 'msg_unknown'], 1e6);
    expect(again).toEqual([whole?.items[1], null]);
    await moveAll();
    const back = await store.read(key('c1', OWNER, 'conversation'), { retentionMs: null, items: 'window' });
    expect(back).toEqual(whole);
  });

  test('a history that is sent whole each time is in the database once, and each response is found for itself', async () => {
    const history: NewRecord['input'][number][] = [];
    const turns = 30;
    for (let turn = 0; turn < turns; turn += 1) {
      history.push(message(`question ${turn}`));
      const output = [message(`answer ${turn}`, `msg_${turn}`)];
      await store.put(record(`r${turn}`, { input: [...history], output }));
      history.push(...output);
    }
    const before = await snapshot();
    const bytes = await store.usedBytes(OWNER);
    await moveAll();
    expect(await rows('stored_nodes')).toBe(turns * 2);
    expect(await store.usedBytes(OWNER)).toBe(bytes);
    expect(await contents('r10', 'window')).toHaveLength(22);
    expect(await rows('stored_nodes')).toBe(turns * 2);
    await store.remove(key('r10'));
    expect(await nodesHere()).toBe(0);
    for (let turn = 0; turn < turns; turn += 1)
      if (turn !== 10) expect(await contents(`r${turn}`, 'window')).toHaveLength(turn * 2 + 2);
    expect(await rows('stored_nodes')).toBe(0);
    const again = record('r10', { input: history.slice(0, 21), output: [message('answer 10', 'msg_10')] });
    await store.put(again);
    expect(await snapshot()).toEqual(before);
    expect(await store.usedBytes(OWNER)).toBe(bytes);
  });

  test('a file stays as long as Redis or the database refers to it, and goes with the last of them', async () => {
    const picture = message(LARGE);
    await store.put(record('r1', { input: [picture], data: { tools: LARGE } }));
    await store.put(record('r2', { input: [message('hi'), picture], data: { tools: LARGE } }));
    const recorder = startRecorder();
    const root = 'response:r1';
    await used.redis.zadd(`gateway:store:{${OWNER}}:uses`, 'XX', 1, root);
    await used.redis.zadd('gateway:store:users', 'XX', 1, OWNER);
    await waitFor(async () => (await rows('stored_trees')) === 1);
    await areSettled();
    expect(await store.remove(key('r2'))).toBe(true);
    expect(await filesLeft()).toHaveLength(2);
    expect(await contents('r1', 'input')).toEqual([LARGE]);
    // The other way round: the database lets go first.
    await store.put(record('r3', { input: [message('ho'), picture], data: { tools: LARGE } }));
    await moveAll(recorder);
    expect(await contents('r3', 'input')).toEqual(['ho', LARGE]);
    expect(await filesLeft()).toHaveLength(2);
    await store.remove(key('r3'));
    expect(await filesLeft()).toHaveLength(2);
    expect(await store.remove(key('r1'))).toBe(true);
    expect(await filesLeft()).toEqual([]);
    expect(await store.usedBytes(OWNER)).toBe(0);
  });

  test('what has expired in the database is deleted there, with its files, and does not come back', async () => {
    await store.put(record('r1', { input: [message(LARGE)], received: received('r1') }));
    await store.put(record('conversation', { retentionMs: null }));
    await moveAll();
    aheadMs = 25 * HOUR_MS;
    await waitFor(async () => (await rows('stored_trees')) === 1);
    aheadMs = 0;
    expect(await store.read(key('r1'), { retentionMs: null })).toBeNull();
    expect(await rows('stored_parts')).toBe(0);
    expect(await used.redis.zcard(`gateway:store:{${OWNER}}:unused-files`)).toBe(1);
    await used.redis.zadd(`gateway:store:{${OWNER}}:unused-files`, 'XX', 1, (await filesLeft())[0] ?? '');
    await used.redis.zadd('gateway:store:owners', 1, OWNER);
    await store.sweep();
    expect(await filesLeft()).toEqual([]);
    expect(await store.remove(key('conversation'))).toBe(true);
    expect(await store.usedBytes(OWNER)).toBe(0);
    expect(await used.redis.smembers('gateway:store:moved')).toEqual(['whole']);
  });

  test('what is moved counts towards its owner’s bound', async () => {
    const maxBytes = 1500;
    await store.put(record('r1', { maxBytes }));
    await moveAll();
    expect(await store.put(record('r2', { maxBytes, input: [message('z'.repeat(500))] }))).toBe('full');
    expect(await store.remove(key('r1'))).toBe(true);
    expect(await store.put(record('r2', { maxBytes, input: [message('z'.repeat(500))] }))).toBe('stored');
  });

  test.for([
    { what: 'read', work: () => contents('r1', 'window'), left: 2 },
    { what: 'continued', work: () => store.put(record('r3', { previous: 'r1' })), left: 3 },
    { what: 'deleted', work: () => store.remove(key('r1')), left: 1 },
  ])('what is $what while it is moved is not moved', async ({ work, left }) => {
    await store.put(record('r1'));
    await store.put(record('r2', { previous: 'r1' }));
    const hooked = { isDone: false };
    aheadMs = 7 * HOUR_MS;
    startRecorder({
      afterWrite: async () => {
        if (hooked.isDone || (await rows('stored_trees')) === 0) return;
        hooked.isDone = true;
        await work();
        aheadMs = 0;
      },
    });
    await waitFor(async () => hooked.isDone && (await rows('stored_trees')) === 0);
    expect(await used.redis.hlen(`gateway:store:{${OWNER}}:records`)).toBe(left);
    expect(await rows('stored_nodes')).toBe(0);
    expect(await used.redis.exists(`gateway:store:{${OWNER}}:moved-bytes`)).toBe(0);
  });

  test('two who name it at the same time get it, once', async () => {
    for (let turn = 0; turn < 20; turn += 1)
      await store.put(record(`r${turn}`, turn === 0 ? {} : { previous: `r${turn - 1}` }));
    const before = await snapshot();
    await moveAll();
    const stores = await openAssetStores({ url: folder.path });
    const files = partFilesIn(await stores.open('conversations'));
    const other = createConversationStore({ redis: used.redis, files, idTtlSeconds: 60 });
    startRecorder();
    const windows = await Promise.all([contents('r19', 'window'), contents('r19', 'window', other)]);
    for (const window of windows) expect(window).toHaveLength(40);
    expect(await snapshot()).toEqual(before);
  });

  test('a recorder that dies at any step of a move loses nothing and leaves nothing twice', async () => {
    await store.put(record('r1', { input: [message(LARGE)], received: received('r1') }));
    await store.put(record('r2', { previous: 'r1', received: received('r2') }));
    const [before, bytes] = [await snapshot(), await store.usedBytes(OWNER)];
    let deaths = 0;
    for (const direction of ['out', 'back'] as const) {
      for (let step = 0; ; step += 1) {
        const death = { after: step, isDead: false };
        if (direction === 'back') await moveAll(startRecorder());
        await closeRecorders();
        if (direction === 'out') aheadMs += 7 * HOUR_MS;
        startRecorder({ death });
        if (direction === 'out') await waitFor(async () => death.isDead || (await isAllMoved()));
        else {
          // As somebody who leaves before it is answered.
          const ask = { id: `${step}`, owner: OWNER, names: ['response:r2'] };
          await used.redis.rpush('gateway:store:asks', JSON.stringify(ask));
          await waitFor(async () => death.isDead || (await rows('stored_trees')) === 0);
        }
        await closeRecorders();
        if (direction === 'out') aheadMs -= 7 * HOUR_MS;
        // Its lease is over.
        aheadMs += 120_000;
        startRecorder();
        expect(await contents('r2', 'window')).toEqual([
          ...[LARGE, 'answer of r1', 'question of r2', 'answer of r2'],
        ]);
        await areSettled();
        expect(await rows('stored_trees')).toBe(0);
        expect(await snapshot()).toEqual(before);
        expect(await store.usedBytes(OWNER)).toBe(bytes);
        await closeRecorders();
        if (!death.isDead) break;
        deaths += 1;
      }
    }
    expect(deaths).toBe(8);
    expect(await filesLeft()).toHaveLength(1);
  });

  test('an emptied Redis finds what was in the database, and only what was', async () => {
    await store.put(record('r1', { input: [message(LARGE)], received: received('r1') }));
    await store.put(record('r2', { previous: 'r1' }));
    await moveAll();
    await store.put(record('hot'));
    await used.redis.flushall();
    await waitFor(async () => (await used.redis.exists(`gateway:store:{${OWNER}}:moved-bytes`)) === 1);
    expect(await contents('r2', 'window')).toEqual([
      ...[LARGE, 'answer of r1', 'question of r2', 'answer of r2'],
    ]);
    expect(await store.read(key('hot'), { retentionMs: null })).toBeNull();
    expect(await origins.find(received('r1').ids, { keyId: OWNER, owners: [OWNER] })).toEqual([
      origin(),
      origin(),
    ]);
  });

  test('a Redis that was set back has what has moved once, and what is deleted stays deleted', async () => {
    await store.put(record('r1'));
    await store.put(record('r2'));
    const names = await used.redis.keys('gateway:store:{*');
    const dumps = await Promise.all(names.map((name) => used.redis.dumpBuffer(name)));
    await moveAll();
    await closeRecorders();
    await used.redis.del('gateway:store:moved', ...(await used.redis.keys('gateway:store:{*')));
    for (const [at, name] of names.entries()) await used.redis.restore(name, 0, dumps[at] ?? '', 'REPLACE');
    // It is used before the recorder is there again.
    expect(await contents('r2', 'window')).toHaveLength(2);
    aheadMs += 120_000;
    startRecorder();
    await waitFor(async () => (await used.redis.sismember('gateway:store:moved', 'whole')) === 1);
    expect(await used.redis.hkeys(`gateway:store:{${OWNER}}:records`)).toEqual(['response:r2']);
    expect(await rows('stored_trees')).toBe(1);
    for (const id of ['r1', 'r2']) {
      expect(await store.remove(key(id))).toBe(true);
      expect(await store.read(key(id), { retentionMs: null })).toBeNull();
    }
    expect(await store.usedBytes(OWNER)).toBe(0);
  });

  test('a database that was set back finds what it had then, once, and what moved later is not found', async () => {
    await store.put(record('r1', { input: [message(LARGE)] }));
    await store.put(record('r2'));
    await moveAll();
    await closeRecorders();
    const tables = ['stored_owners', 'stored_parts', 'stored_trees', 'stored_nodes', 'stored_records'];
    const backup = await used.database.read(({ query }) =>
      Promise.all(
        tables.map(async (table) => ({ table, kept: Rows.parse(await query(`select * from ${table}`)) })),
      ),
    );
    startRecorder();
    expect(await contents('r2', 'window')).toHaveLength(2);
    await store.put(record('later'));
    await store.put(record('last', { previous: 'later' }));
    await moveAll();
    expect(await contents('r2', 'window')).toHaveLength(2);
    await closeRecorders();
    await used.database.write(async ({ query }) => {
      for (const { table } of backup.toReversed()) await query(`delete from ${table}`);
      for (const { table, kept } of backup)
        for (const row of kept) {
          const names = Object.keys(row);
          const places = names.map((_, at) => `$${at + 1}`).join(', ');
          await query(`insert into ${table} (${names.join(', ')}) values (${places})`, Object.values(row));
        }
      await query("update recorder_facts set value = 'restored' where name = 'source'");
    });
    startRecorder();
    await waitFor(async () => (await used.redis.sismember('gateway:store:moved', 'whole')) === 1);
    expect(await contents('r1', 'window')).toEqual([LARGE, 'answer of r1']);
    expect(await contents('r2', 'window')).toEqual(['question of r2', 'answer of r2']);
    expect(await contents('last', 'window')).toBeUndefined();
    await areSettled();
    expect(await rows('stored_trees')).toBe(0);
    for (const id of ['r1', 'r2']) expect(await store.remove(key(id))).toBe(true);
    expect(await store.usedBytes(OWNER)).toBe(0);
  });

  if (dialect === 'postgres')
    test('while PostgreSQL is away what has moved is not said to be gone, what is here is read, and then all is found', async () => {
      await store.put(record('r1'));
      await moveAll();
      await store.put(record('hot'));
      await used.postgres.kill();
      const reading = store.read(key('r1'), { retentionMs: null });
      await expect(reading).rejects.toMatchObject({ code: 'service_unavailable' });
      expect(await contents('hot', 'window')).toHaveLength(2);
      await used.postgres.restart();
      expect(await contents('r1', 'window')).toEqual(['question of r1', 'answer of r1']);
      expect(await store.remove(key('r1'))).toBe(true);
    });

  test('what was stored before uses were noted is moved as well', async () => {
    await store.put(record('r1'));
    await store.put(record('r2', { previous: 'r1' }));
    await used.redis.del(`gateway:store:{${OWNER}}:uses`, 'gateway:store:users');
    startRecorder();
    await waitFor(async () => (await used.redis.zcard(`gateway:store:{${OWNER}}:uses`)) === 1);
    await moveAll();
    expect(await rows('stored_records')).toBe(2);
    expect(await contents('r2', 'window')).toHaveLength(4);
  });
});
