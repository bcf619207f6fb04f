import { mkdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { createServer, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import express from 'express';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useAdmin } from '../testing/use-admin.ts';
import { DOCS_PATH, serveDocs } from './serve-docs.ts';

const admin = useAdmin();
const resources = new AsyncDisposableStack();
const urls = { built: '', absent: '' };
const folders = { site: '' };

beforeAll(async () => {
  const folder = resources.adopt(await temporaryFolder(), (owned) => owned.close());
  const site = join(folder.path, 'site');
  await mkdir(join(site, 'clouds'), { recursive: true });
  await writeFile(join(folder.path, 'secret.html'), 'not of the site');
  await writeFile(join(site, 'index.html'), '<h1>First</h1>');
  await writeFile(join(site, 'clouds/index.html'), '<h1>Clouds</h1>');
  await writeFile(join(site, 'style.css'), 'body {}');
  folders.site = site;
  urls.built = await listen(site);
  urls.absent = await listen(join(folder.path, 'none'));
});
afterAll(() => resources.disposeAsync());

async function listen(folder: string): Promise<string> {
  const app = express();
  app.use(DOCS_PATH, serveDocs(folder, '/gw'));
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  resources.defer(() => void server.close());
  // A server that listens on a port has an address of this form.
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}

/** A request whose path is sent as it is written. */
const readBytes = (
  path: string,
  headers: Record<string, string>,
  { method = 'GET', url = urls.built } = {},
) =>
  new Promise<{ status: number | undefined; headers: NodeJS.Dict<string | string[]>; body: Buffer }>(
    (resolve, reject) => {
      const outgoing = sendRequest(url, { method, path, headers, agent: false }, async (reply) =>
        resolve({ status: reply.statusCode, headers: reply.headers, body: await buffer(reply) }),
      );
      outgoing.on('error', reject).end();
    },
  );
const get = async (
  path: string,
  { headers = {}, ...options }: { method?: string; url?: string; headers?: Record<string, string> } = {},
) => {
  const reply = await readBytes(path, headers, options);
  return { ...reply, body: reply.body.toString() };
};

test.for([
  ['/docs/', '<h1>First</h1>', 'text/html'],
  ['/docs/?a=1', '<h1>First</h1>', 'text/html'],
  ['/docs/index.html', '<h1>First</h1>', 'text/html'],
  ['/docs/clouds/', '<h1>Clouds</h1>', 'text/html'],
  ['/docs/style.css', 'body {}', 'text/css'],
] as const)('%s is a file of the site', async ([path, body, type]) => {
  const reply = await get(path);
  expect(reply).toMatchObject({ status: 200, body });
  expect(reply.headers).toMatchObject({
    'content-type': expect.stringContaining(type),
    'content-security-policy': expect.stringMatching(
      /^default-src 'none'; script-src 'self'; style-src 'self'/,
    ),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-cache',
    etag: expect.any(String),
  });
  expect(reply.headers['content-security-policy']).not.toContain('unsafe');
});

test.for([
  // As browsers send it.
  ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
  ['br;q=0, gzip', 'gzip', gunzipSync],
  ['gzip', 'gzip', gunzipSync],
] as const)(
  'the search has its data compressed (%s), the newest, and only when they changed',
  async ([accepted, encoding, decompress]) => {
    const get = (headers: Record<string, string> = {}) =>
      readBytes('/docs/search-data.js', { 'accept-encoding': accepted, ...headers });
    for (const text of ['const searchData = [];', 'const searchData = [1];']) {
      await writeFile(join(folders.site, 'search-data.js'), text);
      for (const reply of [await get(), await get()]) {
        expect(reply.headers).toMatchObject({
          'content-encoding': encoding,
          'content-type': 'text/javascript; charset=utf-8',
          'cache-control': 'no-cache',
          vary: 'accept-encoding',
          'content-security-policy': expect.any(String),
        });
        expect(decompress(reply.body).toString()).toBe(text);
        const again = await get({ 'if-none-match': `${reply.headers.etag}` });
        expect([again.status, again.body.length]).toEqual([304, 0]);
      }
    }
    const plain = await readBytes('/docs/search-data.js', {});
    expect(plain.headers).toMatchObject({ vary: 'accept-encoding' });
    expect(plain.body.toString()).toBe('const searchData = [1];');
  },
);

test('data that could not be read once are read the next time', async () => {
  const file = join(folders.site, 'search-data.js');
  const read = () => readBytes('/docs/search-data.js', { 'accept-encoding': 'br' });
  await rm(file, { force: true });
  // It is there, and cannot be read.
  await mkdir(file);
  expect((await read()).status).toBe(500);
  const { size, mtime } = await stat(file);
  await rm(file, { recursive: true });
  await writeFile(file, 'x'.repeat(size));
  await utimes(file, mtime, mtime);
  expect(await read()).toMatchObject({ status: 200, headers: { 'content-encoding': 'br' } });
});

test('a browser that has a file asks whether it changed, and HEAD has no body', async () => {
  const { headers } = await get('/docs/');
  expect(await get('/docs/', { headers: { 'if-none-match': `${headers.etag}` } })).toMatchObject({
    status: 304,
    body: '',
  });
  const head = await get('/docs/', { method: 'HEAD' });
  expect(head).toMatchObject({ status: 200, body: '' });
  expect(head.headers['content-length']).toBe('14');
});

test.for([
  '/docs/nothing.html',
  '/docs/clouds',
  '/docs/style.css/',
  '/docs/../secret.html',
  '/docs/%2e%2e/secret.html',
  '/docs/..%2fsecret.html',
  '/docs/clouds/..%2f..%2fsecret.html',
  '/docs/%00',
  '/docs/%zz',
])('%s is no page of the site', async (path) => {
  const { status, body } = await get(path);
  expect([400, 404]).toContain(status);
  expect(body).not.toContain('not of the site');
});

test('a page that does not exist leads to the first one, wherever a proxy has this service', async () => {
  const { headers, body } = await get('/docs/nothing.html');
  expect(headers).toMatchObject({ 'cache-control': 'no-store', 'content-type': 'text/html; charset=utf-8' });
  expect(body).toContain('href="/gw/docs/"');
  expect(await get('/docs')).toMatchObject({ status: 302, headers: { location: '/gw/docs/' } });
});

test('without the built site every page says what to run', async () => {
  for (const path of ['/docs/', '/docs/api.html'])
    expect(await get(path, { url: urls.absent })).toMatchObject({
      status: 503,
      body: expect.stringContaining('npm run docs:build'),
    });
});

test('the admin service has the site, open to anybody, compressed, and for reading only', async () => {
  const reply = await fetch(`${admin.url}/docs/`, { headers: { 'accept-encoding': 'br' } });
  expect(reply.headers.get('content-encoding')).toBe('br');
  expect(await reply.text()).toContain('<h1 id="documentation">');
  const post = await fetch(`${admin.url}/docs/`, { method: 'POST' });
  expect(post.status).toBe(405);
  expect(post.headers.get('allow')).toBe('GET, HEAD');
});
