import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Identity } from '@gateway/contracts/identity';
import { createIdentitySigner } from '@gateway/service-kit/identity-token';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { startRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { silence, wavFile } from './testing/audio-files.ts';

const SECRET = 'a secret that only this test knows of';
const Ready = z.object({ type: z.literal('ready'), port: z.number() });
const resources = new AsyncDisposableStack();
let simulator: Simulator;
let service: { child: ChildProcess; url: string };
let worker: { child: ChildProcess; url: string };

beforeAll(async () => {
  const own = <T extends { close(): unknown }>(resource: T): T =>
    resources.adopt(resource, async (owned) => void (await owned.close()));
  const redis = own(await startRedis());
  const folder = own(await temporaryFolder());
  simulator = own(await startSimulator());
  const config = join(folder.path, 'gateway.yaml');
  await writeFile(
    config,
    `channels: { one: { provider: simulator, baseUrl: "${simulator.url}" } }\n` +
      'models: { whisper-1: { kind: transcription, routes: [{ channel: one }] } }\n',
  );
  const env = {
    REDIS_URL: redis.url,
    GATEWAY_SECRET: SECRET,
    GATEWAY_CONFIG: config,
    GATEWAY_DATA_DIR: folder.path,
    AUDIO_PORT: '0',
    AUDIO_FILE_MAX_BYTES: '200000000',
  };
  const start = async (entry: string) => {
    const child = fork(new URL(entry, import.meta.url), { env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    resources.defer(() => void child.kill('SIGKILL'));
    const [message] = await once(child, 'message');
    return { child, url: `http://127.0.0.1:${Ready.parse(message).port}` };
  };
  [service, worker] = await Promise.all([start('./main.ts'), start('./worker.ts')]);
});
const identity = Identity.parse({
  keyId: 'key_1',
  keyName: 'test',
  team: null,
  models: null,
  endpoints: null,
  accounts: [],
});
const sign = createIdentitySigner({ secret: SECRET, now: Date.now });

function transcribe(file: File): Promise<Response> {
  const form = new FormData();
  form.append('file', file);
  form.append('model', 'whisper-1');
  return fetch(`${service.url}/v1/audio/transcriptions`, {
    method: 'POST',
    body: form,
    headers: { 'x-gateway-identity': sign(identity) },
  });
}

/** The most memory that a process has had resident so far. */
async function peakBytes({ pid }: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

afterAll(() => resources.disposeAsync());

test('service and worker, as processes of their own, tell how they are and transcribe together', async () => {
  for (const { url } of [service, worker]) {
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect(await (await fetch(`${url}/metrics`)).text()).toContain('process_cpu_seconds_total');
  }
  const answer = await transcribe(silence(5));
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ text: expect.stringContaining('beach') });
  const counted = /gateway_requests_total\{.*audio\.transcription.*\} 1/;
  await waitFor(async () => counted.test(await (await fetch(`${worker.url}/metrics`)).text()));
});

test('an upload passes through both without being held in memory', async () => {
  // Far larger than what is accepted by default, so that holding it could not be taken for garbage.
  const sizeBytes = 150_000_000;
  simulator.script('/v1/audio/transcriptions', { json: { text: 'heard' } });
  const peaks = () => Promise.all([service, worker].map(({ child }) => peakBytes(child)));
  const before = await peaks();
  expect(await (await transcribe(wavFile(sizeBytes))).json()).toEqual({ text: 'heard' });
  const after = await peaks();
  for (const [index, peak] of after.entries())
    expect(peak - (before[index] ?? 0)).toBeLessThan(sizeBytes / 2);
});

test('a request without the edge before it is refused', async () => {
  const answer = await fetch(`${service.url}/v1/audio/transcriptions`, { method: 'POST' });
  expect(answer.status).toBe(401);
});

test('SIGTERM ends both cleanly', async () => {
  for (const { child } of [service, worker]) {
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  }
});
