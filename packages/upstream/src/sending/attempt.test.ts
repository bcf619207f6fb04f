import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { expect, onTestFinished, test } from 'vitest';
import { error, startProvider, startUpstream } from '../provider-for-tests.ts';
import type { StreamedBody } from '../requests/upstream-request.ts';
import type { Upstream } from '../upstream.ts';

const send = (upstream: Upstream, body: StreamedBody, signal?: AbortSignal) => {
  const model = upstream.resolveModel('small');
  if (model === null) throw new Error('no model');
  return upstream.send({
    candidates: upstream.candidates({ model, protocol: 'responses' }),
    request: () => ({ operation: 'responses', method: 'POST', headers: {}, body }),
    dialect: 'openai',
    work: 'paid',
    streamed: false,
    ...(signal && { signal }),
  });
};

const fileOf = async (content: string): Promise<string> => {
  const folder = await temporaryFolder();
  onTestFinished(() => folder.close());
  const path = join(folder.path, 'upload');
  await writeFile(path, content);
  return path;
};

test('a body on disk is sent whole in each attempt, with its length or in chunks', async () => {
  const content = randomBytes(200_000).toString('hex');
  const path = await fileOf(content);
  for (const sizeBytes of [content.length, null]) {
    const first = await startProvider(error(503, {}));
    const second = await startProvider();
    const upstream = await startUpstream({
      first: { origin: first.origin },
      second: { origin: second.origin },
    });
    await (await send(upstream, { sizeBytes, open: () => createReadStream(path) })).bytes(100);
    for (const provider of [first, second]) {
      expect(provider.requests[0]?.body === content).toBe(true);
      expect(provider.requests[0]?.headers['content-length']).toBe(
        sizeBytes === null ? undefined : `${sizeBytes}`,
      );
    }
  }
});

test('a body that cannot be read is an internal error: no other channel is tried', async () => {
  const path = await fileOf('x');
  await rm(path);
  const first = await startProvider();
  const second = await startProvider();
  const upstream = await startUpstream({
    first: { origin: first.origin },
    second: { origin: second.origin },
  });
  await expect(send(upstream, { sizeBytes: 1, open: () => createReadStream(path) })).rejects.toMatchObject({
    code: 'ENOENT',
  });
  expect(second.requests).toEqual([]);
});

/** A server that breaks the connection as soon as the first bytes have arrived. */
const breakingOrigin = async (): Promise<string> => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => socket.resetAndDestroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
};

test('paid work whose request was sent in part only is repeated elsewhere', async () => {
  const second = await startProvider();
  const upstream = await startUpstream({
    first: { origin: await breakingOrigin() },
    second: { origin: second.origin },
  });
  let opened = 0;
  const open = (): Readable => {
    opened += 1;
    if (opened > 1) return Readable.from(['whole']);
    // Half of the body, and then nothing until the connection breaks.
    const half = new Readable({ read: () => undefined });
    half.push('half');
    return half;
  };
  await (await send(upstream, { sizeBytes: null, open })).bytes(100);
  expect(second.requests[0]?.body).toBe('whole');
});

test('a body that is being sent is closed when the caller leaves', async () => {
  const caller = new AbortController();
  const provider = await startProvider();
  const upstream = await startUpstream({ one: { origin: provider.origin } });
  const body = new Readable({ read: () => void setImmediate(() => caller.abort()) });
  body.push('half');
  const closed = new Promise((resolve) => body.once('close', resolve));
  await expect(send(upstream, { sizeBytes: null, open: () => body }, caller.signal)).rejects.toMatchObject({
    code: 'client_closed_request',
  });
  await closed;
});
