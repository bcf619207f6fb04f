import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { pngBytes, pngFile } from './testing/image-files.ts';

const Started = z.object({ url: z.string(), headers: z.record(z.string(), z.string()) });
const Stored = z.object({
  assets: z.array(z.string()),
  uploads: z.array(z.string()),
  inputs: z.array(z.string()),
  outcomes: z.array(z.object({ outcome: z.string(), usage: z.object({ costMicroUsd: z.number() }) })),
});

const MEBIBYTE = 1024 * 1024;
const padded = (bytes: Buffer, mebibytes: number) =>
  Buffer.concat([bytes, Buffer.alloc(mebibytes * MEBIBYTE)]);

/** Makes a large image if the prompt contains its word. */
async function startProvider(): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const image = body.includes('large') ? padded(pngBytes(), 24) : pngBytes();
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ created: 1, data: [{ b64_json: image.toString('base64') }] }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
}

/** The service and its worker on a file system of 16 MB, which only they see. */
async function startOnSmallDisk() {
  const provider = await startProvider();
  const folder = await temporaryFolder();
  const mounted = `sh -c 'mount -t tmpfs -o size=16m tmpfs "$0" && TMPDIR="$0" exec "$@"'`;
  const script = `exec unshare --user --map-root-user --mount ${mounted} "$0" "$@"`;
  const fixture = fileURLToPath(new URL('./testing/image-on-small-disk.ts', import.meta.url));
  const child = spawn('sh', ['-c', script, folder.path, process.execPath, fixture, provider], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
    await folder.close();
  });
  const [message] = await once(child, 'message');
  return { child, ...Started.parse(message) };
}

async function storedBy(child: ChildProcess) {
  child.send('stored');
  const [message] = await once(child, 'message');
  return Stored.parse(message);
}

// Only Linux lets a process have a small file system of its own.
test.runIf(process.platform === 'linux')(
  'on a full disk uploads and images are refused whole, what was made is charged, and what fits is done',
  async () => {
    const { child, url, headers } = await startOnSmallDisk();
    const generate = (prompt: string) =>
      fetch(`${url}/v1/images/generations`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'dall-e-2', prompt, size: '256x256', response_format: 'b64_json' }),
      });
    const edit = (file: File) => {
      const body = new FormData();
      for (const [name, value] of [
        ['model', 'dall-e-2'],
        ['prompt', 'a hat'],
        ['size', '256x256'],
      ] as const)
        body.append(name, value);
      body.append('image', file);
      return fetch(`${url}/v1/images/edits`, { method: 'POST', headers, body });
    };
    const full = { error: { code: 'storage_full' } };

    const upload = await edit(new File([new Uint8Array(padded(pngBytes(), 24))], 'large.png'));
    expect([upload.status, await upload.json()]).toMatchObject([507, full]);

    const large = await generate('a large cat');
    expect([large.status, await large.json()]).toMatchObject([507, full]);
    expect(large.headers.get('x-should-retry')).toBe('false');
    const left = await waitFor(async () => {
      const found = await storedBy(child);
      return found.inputs.length === 0 && found.outcomes.length === 1 && found;
    });
    expect(left.uploads).toEqual([]);
    expect(left.assets).toEqual([]);
    expect(left.outcomes).toMatchObject([{ outcome: 'failed', usage: { costMicroUsd: 16_000 } }]);

    expect((await generate('a small cat')).status).toBe(200);
    expect((await edit(pngFile())).status).toBe(200);
  },
);
