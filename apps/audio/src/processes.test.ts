import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { Identity } from '@gateway/contracts/identity';
import { createIdentitySigner } from '@gateway/service-kit/identity/identity-token';
import { startSimulator } from '@gateway/simulator/start-simulator';
import { startRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { silence, wavFile } from './testing/audio-files.ts';

const SECRET = 'a secret that only this test knows of';
const Ready = z.object({ type: z.literal('ready'), port: z.number() });
const LiveMemory = z.object({ type: z.literal('live memory'), bytes: z.number() });
const resources = new AsyncDisposableStack();
/** What the provider of `counted` does with a recording before it answers. */
let takeRecording: (recording: IncomingMessage) => Promise<void>;
let service: { child: ChildProcess; url: string };
let worker: { child: ChildProcess; url: string };

beforeAll(async () => {
  const own = <T extends { close(): unknown }>(resource: T): T =>
    resources.adopt(resource, async (owned) => void (await owned.close()));
  const redis = own(await startRedis());
  const folder = own(await temporaryFolder());
  const simulator = own(await startSimulator());
  const counting = own(
    createServer(async (request, response) => {
      await takeRecording(request);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"text":"heard"}');
    }),
  );
  await once(counting.listen(0, '127.0.0.1'), 'listening');
  const address = counting.address();
  const countingPort = typeof address === 'object' && address ? address.port : 0;
  const config = join(folder.path, 'gateway.yaml');
  await writeFile(
    config,
    `
channels:
  one: { provider: simulator, baseUrl: "${simulator.url}" }
  two: { provider: simulator, baseUrl: "http://127.0.0.1:${countingPort}" }
models:
  whisper-1: { kind: transcription, routes: [{ channel: one }] }
  counted: { kind: transcription, routes: [{ channel: two }] }
`,
  );
  const env = {
    REDIS_URL: redis.url,
    GATEWAY_SECRET: SECRET,
    GATEWAY_CONFIG: config,
    GATEWAY_DATA_DIR: folder.path,
    AUDIO_PORT: '0',
    AUDIO_FILE_MAX_BYTES: '50000000',
  };
  const start = async (entry: string) => {
    const reporting = new URL('./testing/report-live-memory.ts', import.meta.url).href;
    const child = fork(new URL(entry, import.meta.url), {
      env,
      execArgv: ['--expose-gc', '--import', reporting],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
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

const send = (init: RequestInit): Promise<Response> =>
  fetch(`${service.url}/v1/audio/transcriptions`, {
    method: 'POST',
    ...init,
    headers: { ...init.headers, 'x-gateway-identity': sign(identity) },
  });

function formWith(file: File, model: string): FormData {
  const form = new FormData();
  form.append('file', file);
  form.append('model', model);
  return form;
}

/** What the process holds at this moment, garbage not counted. */
async function liveBytes(child: ChildProcess): Promise<number> {
  const answer = once(child, 'message');
  child.send('live memory');
  const [message] = await answer;
  return LiveMemory.parse(message).bytes;
}

/** Reads what a process holds before a transfer and again whenever so many more bytes have passed. */
async function watchHeld(child: ChildProcess, everyBytes: number) {
  const before = await liveBytes(child);
  const held: number[] = [];
  let unmeasured = 0;
  return {
    held,
    passed: async (bytes: number) => {
      unmeasured += bytes;
      if (unmeasured < everyBytes) return;
      unmeasured = 0;
      held.push((await liveBytes(child)) - before);
    },
  };
}

afterAll(() => resources.disposeAsync());

test('service and worker, as processes of their own, report their health and transcribe together', async () => {
  for (const { url } of [service, worker]) {
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect(await (await fetch(`${url}/metrics`)).text()).toContain('process_cpu_seconds_total');
  }
  const answer = await send({ body: formWith(silence(5), 'whisper-1') });
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ text: expect.stringContaining('beach') });
  const counted = /gateway_requests_total\{.*audio\.transcription.*\} 1/;
  await waitFor(async () => counted.test(await (await fetch(`${worker.url}/metrics`)).text()));
});

test('an upload passes through both without being held in memory', async () => {
  const sizeBytes = 48_000_000;
  const everyBytes = 6_000_000;
  const inService = await watchHeld(service.child, everyBytes);
  const inWorker = await watchHeld(worker.child, everyBytes);
  // Sender and provider pause while a process is read, so that one that reads on holds visibly more.
  takeRecording = async (recording) => {
    for await (const chunk of recording) await inWorker.passed(chunk.length);
  };
  const file = Buffer.from(await wavFile(sizeBytes).arrayBuffer());
  const pieces = async function* () {
    yield Buffer.from(
      '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\ncounted\r\n' +
        '--b\r\ncontent-disposition: form-data; name="file"; filename="audio.wav"\r\n\r\n',
    );
    for (let at = 0; at < sizeBytes; at += 1_000_000) {
      yield file.subarray(at, at + 1_000_000);
      await inService.passed(1_000_000);
    }
    yield Buffer.from('\r\n--b--\r\n');
  };
  const headers = { 'content-type': 'multipart/form-data; boundary=b' };
  const answer = await send({ body: ReadableStream.from(pieces()), headers, duplex: 'half' });
  expect(await answer.json()).toEqual({ text: 'heard' });
  for (const { held } of [inService, inWorker]) {
    expect(held.length).toBeGreaterThan(5);
    expect(Math.max(...held)).toBeLessThan(sizeBytes / 2);
  }
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
