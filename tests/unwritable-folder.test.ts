import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createGate } from '@gateway/simulator/gate';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { pngFile, wavFile } from './support/media-files.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** The data folder takes no writes for a while: requests that need it are refused with a clear error, the others are served, and nothing has to be repaired. */

const folder = await temporaryFolder();
const orders = join(folder.path, 'orders');
const refuseWrites = new URL('./support/refuse-writes.ts', import.meta.url);
refuseWrites.searchParams.set('orders', orders);
let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    env: {
      NODE_OPTIONS: `--import ${refuseWrites.href}`,
    },
  });
});
afterAll(async () => {
  await gateway?.close();
  await folder.close();
});
beforeEach(() => gateway.simulator.reset());

const formOf = (parts: Record<string, string | File>) => {
  const body = new FormData();
  for (const [name, value] of Object.entries(parts)) body.append(name, value);
  return { body };
};
const edit = () =>
  gateway.fetch(
    '/v1/images/edits',
    formOf({ model: 'gpt-image-1', prompt: 'a hat', image: pngFile(), quality: 'low' }),
  );
const transcribe = () =>
  gateway.fetch('/v1/audio/transcriptions', formOf({ model: 'whisper-1', file: wavFile(1) }));
const generate = () =>
  gateway.fetch('/v1/images/generations', {
    json: { model: 'dall-e-2', prompt: 'a cat', size: '256x256', response_format: 'b64_json' },
  });
const respond = (input: string) => gateway.fetch('/v1/responses', { json: { model: 'gpt-5.2', input } });

const left = async (): Promise<string[]> => {
  const names = await Promise.all(
    ['uploads', 'inputs'].map((name) => readdir(join(gateway.dataFolder, name)).catch(() => [])),
  );
  return names.flat();
};

test.for([
  ['ENOSPC', 507, 'storage_full'],
  ['EROFS', 503, 'service_unavailable'],
] as const)(
  'a data folder that refuses writes (%s): requests that need it get %i before anything is paid, and all are served afterwards',
  async ([error, status, code]) => {
    await writeFile(orders, error);
    for (const ask of [edit, transcribe, generate]) {
      const reply = await ask();
      expect([reply.status, reply.headers.get('x-should-retry'), await reply.json()]).toMatchObject([
        status,
        'true',
        { error: { code } },
      ]);
    }
    expect(gateway.simulator.requests).toEqual([]);
    const answered = await respond('long '.repeat(5000));
    expect([answered.status, answered.headers.get('x-gateway-stored')]).toEqual([200, 'false']);

    await writeFile(orders, '');
    for (const ask of [edit, transcribe, generate]) expect((await ask()).status).toBe(200);
    await waitFor(async () => (await left()).length === 0);
  },
);

test.for(['ENOSPC', 'EROFS'])(
  'a streamed image that cannot be stored (%s) is not made a second time, since it has been paid',
  async (error) => {
    const gate = createGate();
    gateway.simulator.script('/v1/images/generations', { gate: gate.opened });
    const taken = await gateway.fetch('/v1/images/generations', {
      json: { model: 'gpt-image-1', prompt: 'a cat', quality: 'low', stream: true },
      headers: { prefer: 'respond-async' },
    });
    expect(taken.status).toBe(202);
    await gateway.simulator.nextRequest();
    await writeFile(orders, error);
    gate.open();
    const path = taken.headers.get('location') ?? '';
    const result = await waitFor(async () => {
      const reply = await gateway.fetch(`${path}/result`);
      return reply.status !== 409 && reply;
    });
    await writeFile(orders, '');
    expect([result.status >= 500, result.headers.get('x-should-retry')]).toEqual([true, 'false']);
    expect(gateway.simulator.requests).toHaveLength(1);
  },
);
