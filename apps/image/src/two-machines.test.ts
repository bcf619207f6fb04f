import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AssetStores } from '@gateway/assets/asset-store';
import { openAssetStores } from '@gateway/assets/open-asset-stores';
import { Identity } from '@gateway/contracts/identity';
import { createIdentitySigner } from '@gateway/service-kit/identity/identity-token';
import { startSimulator } from '@gateway/simulator/start-simulator';
import { COMPILE_CACHE } from '@gateway/testkit/compile-cache';
import { startRedis } from '@gateway/testkit/start-redis';
import { startS3 } from '@gateway/testkit/start-s3';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { imageTypeOf } from './files/image-header.ts';
import { pngFile } from './testing/image-files.ts';

/** A service and a worker that share Redis and a bucket, and no folder. */

const SECRET = 'a secret that only this test knows of';
const Ready = z.object({ type: z.literal('ready'), port: z.number() });
const resources = new AsyncDisposableStack();
let dataDir: string;
let bucket: AssetStores;
/** Two replicas of the service. */
let urls: readonly string[];

beforeAll(async () => {
  const own = <T extends { close(): unknown }>(resource: T): T =>
    resources.adopt(resource, async (owned) => void (await owned.close()));
  const redis = own(await startRedis());
  const s3 = own(await startS3());
  const folder = own(await temporaryFolder());
  const simulator = own(await startSimulator());
  dataDir = folder.path;
  const config = join(dataDir, 'gateway.yaml');
  await writeFile(
    config,
    `
channels: { one: { provider: simulator, baseUrl: "${simulator.url}" } }
models: { gpt-image-1.5: { kind: image, routes: [{ channel: one }] } }
`,
  );
  const url = `s3://${s3.bucket}/gateway`;
  bucket = own(await openAssetStores({ ...s3, url }));
  const start = async (entry: string, machine: string) => {
    const child = fork(new URL(entry, import.meta.url), {
      env: {
        ...COMPILE_CACHE,
        REDIS_URL: redis.url,
        GATEWAY_SECRET: SECRET,
        GATEWAY_CONFIG: config,
        GATEWAY_DATA_DIR: join(dataDir, machine),
        IMAGE_PORT: '0',
        ASSETS_URL: url,
        ...s3.environment,
      },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    resources.defer(async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    });
    const [message] = await once(child, 'message');
    return `http://127.0.0.1:${Ready.parse(message).port}`;
  };
  const [one, other] = await Promise.all([
    start('./main.ts', 'service'),
    start('./main.ts', 'replica'),
    start('./worker.ts', 'worker'),
  ]);
  urls = [one, other];
});
afterAll(() => resources.disposeAsync());

const identity = Identity.parse({
  keyId: 'key_1',
  keyName: 'test',
  team: null,
  models: null,
  endpoints: null,
  accounts: [],
});

const filesOf = (machine: string, store: string) =>
  readdir(join(dataDir, machine, store)).catch((): string[] => []);

const stored = async (store: string) => {
  const ids: string[] = [];
  for await (const { id } of (await bucket.open(store)).list()) ids.push(id);
  return ids;
};

test('an upload reaches a worker on another machine, and its image every replica, through the bucket alone', async () => {
  const [one = '', other = ''] = urls;
  const body = new FormData();
  for (const [name, value] of [
    ['model', 'gpt-image-1.5'],
    ['prompt', 'a hat'],
    ['response_format', 'url'],
  ] as const)
    body.append(name, value);
  body.append('image', pngFile());
  const sign = createIdentitySigner({ secret: SECRET, now: Date.now });
  const reply = await fetch(`${one}/v1/images/edits`, {
    method: 'POST',
    headers: { 'x-gateway-identity': sign(identity) },
    body,
  });
  expect(reply.status).toBe(200);
  const { data } = z.object({ data: z.array(z.object({ url: z.string() })) }).parse(await reply.json());
  const { pathname, search } = new URL(data[0]?.url ?? '');
  for (const replica of [one, other]) {
    const image = await fetch(`${replica}${pathname}${search}`);
    expect(imageTypeOf(Buffer.from(await image.arrayBuffer()))).toBe('image/png');
  }
  expect(await stored('assets')).toContain(pathname.split('/').at(-1));
  for (const machine of ['service', 'replica', 'worker'])
    for (const store of ['uploads', 'inputs', 'assets'])
      await waitFor(async () => (await filesOf(machine, store)).length === 0);
  // What the job was given is deleted a moment after its caller has heard of its end; what it came to stays.
  for (const store of ['uploads', 'inputs']) await waitFor(async () => (await stored(store)).length === 0);
});
