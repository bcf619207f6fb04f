import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { servePages, writeJsonPage, writePage } from './pages.ts';

const serve = servePages({
  '/': (_request, response) => writeJsonPage(response, { home: true }),
  '/page': (_request, response) => writePage(response, { type: 'text/plain', text: 'ä' }),
  '/json': (_request, response) => writeJsonPage(response, '{"as":"it is"}', 503),
  '/throws': () => {
    throw new Error('at once');
  },
  '/rejects': async () => {
    throw new Error('later');
  },
});
const server = createServer((request, response) =>
  serve(request, response, (error) => {
    response.end(error instanceof Error ? error.message : 'none');
  }),
);
const url = (path: string): string => {
  const address: AddressInfo | string | null = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : address}${path}`;
};

beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => void server.close());

test.for(['/page', '/page/', '/Page', '/page?of=any'])('a page is found by its path: %s', async (path) => {
  const response = await fetch(url(path));
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/plain']);
  expect(await response.text()).toBe('ä');
});

test('HEAD gets the head of GET, with the length of the page', async () => {
  const response = await fetch(url('/page'), { method: 'HEAD' });
  expect([response.status, response.headers.get('content-length')]).toEqual([200, '2']);
  expect(await response.text()).toBe('');
});

test('JSON that is text is written as it is, and the home page is a page', async () => {
  const response = await fetch(url('/json'));
  expect([response.status, response.headers.get('content-type')]).toEqual([
    503,
    'application/json; charset=utf-8',
  ]);
  expect(await response.text()).toBe('{"as":"it is"}');
  expect(await (await fetch(url('/'))).json()).toEqual({ home: true });
});

test.for([
  ['GET', '/nothing', 'none'],
  ['GET', '/page/of', 'none'],
  ['GET', '/constructor', 'none'],
  ['POST', '/page', 'none'],
  ['GET', '/throws', 'at once'],
  ['GET', '/rejects', 'later'],
] as const)('%s %s goes on to what comes next, with what was thrown: %s', async ([method, path, text]) => {
  expect(await (await fetch(url(path), { method })).text()).toBe(text);
});
