import { randomBytes } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { AssetStore, AssetStores } from '@gateway/assets/asset-store';
import { openAssetStores } from '@gateway/assets/open-asset-stores';
import { CONTENT_STORES } from '@gateway/contracts/content-log';
import { NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import { createLedger } from '@gateway/metering/ledger/ledger';
import { startS3, type TestS3 } from '@gateway/testkit/start-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { runCommand } from '../cli/run-command.ts';
import { TOKEN } from '../testing/run-admin.ts';
import { useAdmin } from '../testing/use-admin.ts';

let s3: TestS3;
beforeAll(async () => {
  s3 = await startS3();
});
afterAll(() => s3?.close());

interface Line {
  readonly id: string;
  readonly keyId?: string;
  readonly endUser?: string;
}

/** @param logged what the log has of the end user, where that is redacted */
const lineOf = ({ id, keyId = 'key_a', endUser }: Line, logged = endUser): string =>
  `${JSON.stringify({
    ...{ version: 1, id, requestId: `caller-${id}`, at: '2025-11-27T02:15:00.000Z', keyId, team: null },
    ...{ endpoint: 'chat', model: 'gpt-5', channel: 'one', ...(logged && { endUser: logged }) },
    request: { messages: [{ role: 'user', content: 'it names "keyId":"key_b" and "endUser":"ann"' }] },
    answer: null,
  })}\n`;

const Part = z.object({ deleted: z.int(), next: z.string().nullable() });
const Audit = z.object({ data: z.array(z.looseObject({ action: z.string(), subject: z.string() })) });

describe.each(['a folder', 'a bucket'] as const)('with the content log in %s', (place) => {
  const admin = useAdmin({
    env: () => (place === 'a bucket' ? { ...s3.environment, ASSETS_URL: `s3://${s3.bucket}/files` } : {}),
  });
  let stores: AssetStores;
  let store: AssetStore;
  beforeAll(async () => {
    const { endpoint, region, credentials, bucket } = s3;
    stores = await openAssetStores(
      place === 'a bucket'
        ? { url: `s3://${bucket}/files`, endpoint, region, credentials }
        : { url: admin.dataFolder },
    );
    store = await stores.open(CONTENT_STORES.lines);
  });
  afterAll(() => stores?.close());

  async function logged(...lines: string[]): Promise<string> {
    const object = `2026-11-27_02_${randomBytes(4).toString('hex')}_1.gz`;
    await store.put(object, gzipSync(lines.join('')));
    return object;
  }
  const idsIn = async (object: string): Promise<string[] | null> => {
    const asset = await store.open(object);
    if (asset === undefined) return null;
    const lines = gunzipSync(await asset.bytes())
      .toString()
      .trimEnd()
      .split('\n');
    return lines.map((line) => z.object({ id: z.string() }).parse(JSON.parse(line)).id);
  };
  const settle = ({ id, keyId = 'key_a', endUser }: Line, contentObject: string) =>
    createLedger({ redis: admin.redis, now: Date.now, keepRecordsDays: 30 }).settle(
      {
        ...{ id, keyId, team: null, endpoint: 'chat', model: 'gpt-5', startedAtMs: Date.now() },
        ...{ requestId: `caller-${id}`, ...(endUser && { endUser }) },
      },
      {
        ...{ outcome: 'ok', channel: 'one', attempts: 1, durationMs: 900, firstByteMs: 412 },
        ...{ consumption: NOTHING_CONSUMED, estimated: false, costMicroUsd: 0, detail: { contentObject } },
      },
    );
  const call = async (path: string, method = 'GET') => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'x-gateway-actor': 'ann' };
    const reply = await fetch(`${admin.url}/admin/v1${path}`, { method, headers });
    return { status: reply.status, body: await reply.json() };
  };
  const command = async (...argv: string[]) => {
    const printed: string[] = [];
    const print = (text: string) => void printed.push(text);
    const env = { ADMIN_URL: admin.url, GATEWAY_ADMIN_TOKEN: TOKEN };
    const write = async (text: string) => print(text);
    await runCommand({ argv, env, fetch, now: Date.now, userName: 'ann', print, write, printError: print });
    return printed.join('\n');
  };

  test('the content of a request is read, and deleted, from where it lies', async () => {
    const object = await logged(lineOf({ id: 'read' }), lineOf({ id: 'stays' }));
    await settle({ id: 'read' }, object);
    const read = await call('/requests/read/content');
    expect([read.status, read.body]).toMatchObject([200, { id: 'read', keyId: 'key_a' }]);
    expect((await call('/requests/read/content', 'DELETE')).status).toBe(200);
    expect(await idsIn(object)).toEqual(['stays']);
  });

  test("a key's content is deleted from every object, and an object that has no other is gone", async () => {
    const [own, other] = [lineOf({ id: 'own', keyId: 'key_b' }), lineOf({ id: 'other' })];
    const objects = [await logged(other, own), await logged(own, own), await logged(other)];
    expect(await command('content', 'delete', '--key', 'key_b')).toBe('Deleted the content of 3 requests.');
    expect(await Promise.all(objects.map(idsIn))).toEqual([['other'], null, ['other']]);
    const { data } = Audit.parse((await call('/audit')).body);
    expect(data).toMatchObject([{ action: 'content.erased', subject: 'key_b', after: { keyId: 'key_b' } }]);
  });

  test("an end user's content is deleted also where the name is redacted, or the usage record is gone", async () => {
    const endUser = 'ann@example.com';
    const redacted = { id: 'redacted', endUser };
    const object = await logged(
      lineOf(redacted, '[email]'),
      lineOf({ id: 'unrecorded', endUser }),
      lineOf({ id: 'other', endUser: 'ben' }),
    );
    await settle(redacted, object);
    expect(await command('content', 'delete', '--end-user', endUser)).toContain('2 requests');
    expect(await idsIn(object)).toEqual(['other']);
    expect(Part.parse((await call(`/content?endUser=ben`, 'DELETE')).body)).toMatchObject({ deleted: 0 });
  });

  test('no deletion goes by the audit log: a cursor that no call has handed out is a first call, or refused', async () => {
    const object = await logged(lineOf({ id: 'unseen', keyId: 'key_c' }));
    const made = await call('/content?keyId=key_c&cursor=objects:', 'DELETE');
    expect(made).toMatchObject({ status: 200, body: { deleted: 1 } });
    expect(await idsIn(object)).toBeNull();
    const { data } = Audit.parse((await call('/audit')).body);
    expect(data[0]).toMatchObject({ action: 'content.erased', subject: 'key_c' });
    expect(await call('/content?keyId=key_c&cursor=elsewhere', 'DELETE')).toMatchObject({ status: 400 });
  });

  test('one deletion of several calls is one entry of the audit log', async () => {
    const first = Part.parse((await call('/content?endUser=cleo', 'DELETE')).body);
    expect(first.next).not.toBeNull();
    await call(`/content?endUser=cleo&cursor=${encodeURIComponent(String(first.next))}`, 'DELETE');
    const { data } = Audit.parse((await call('/audit')).body);
    expect(data.filter(({ subject }) => subject === 'cleo')).toHaveLength(1);
  });

  test('a call that names nobody, or two, is refused with a sentence', async () => {
    for (const query of ['', '?keyId=key_b&endUser=ann'])
      expect(await call(`/content${query}`, 'DELETE')).toMatchObject({
        status: 400,
        body: { error: { message: expect.stringContaining("either 'keyId' or 'endUser'") } },
      });
  });
});
