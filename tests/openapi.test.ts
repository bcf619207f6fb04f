import { dialectOf } from '@gateway/contracts/endpoints/endpoints';
import { freePort } from '@gateway/testkit/free-port';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** `/openapi.json` says what there is: everything that it describes, and nothing else. */

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

let gateway: Gateway;
let document: Document;
beforeAll(async () => {
  // The edge alone knows what there is; for services that are not there it says so.
  const nobody = `http://127.0.0.1:${await freePort()}`;
  gateway = await startGateway({
    services: ['edge'],
    env: { TEXT_URL: nobody, IMAGE_URL: nobody, AUDIO_URL: nobody, RETRIEVAL_URL: nobody },
  });
  const response = await fetch(`${gateway.url}/openapi.json`);
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  document = JSON.parse(await response.text());
});
afterAll(() => gateway?.close());

const ERROR_SHAPES = { openai: 'OpenAIError', anthropic: 'AnthropicError', google: 'GoogleError' } as const;

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

type Verdict = 'served' | 'no such method' | 'no such path';

async function verdictOn(method: string, path: string): Promise<Verdict> {
  const concrete = path.replaceAll(/\{\w+\}/g, 'some_id');
  const response = await gateway.fetch(concrete, { method: method.toUpperCase() });
  const text = await response.text();
  if (response.status === 405) return 'no such method';
  return response.status === 404 && text.includes('Invalid URL') ? 'no such path' : 'served';
}

test('every path with every method that is described exists, and no other method does', async () => {
  expect(document.openapi).toBe('3.1.0');
  const paths = Object.entries(document.paths);
  expect(paths.length).toBeGreaterThan(8);
  for (const [path, operations] of paths) {
    const described = METHODS.filter((method) => method in operations);
    expect(described, path).not.toEqual([]);
    for (const method of METHODS) {
      const expected = described.includes(method) ? 'served' : 'no such method';
      expect(await verdictOn(method, path), `${method} ${path}`).toBe(expected);
    }
  }
});

test('a path that is not described does not exist', async () => {
  for (const path of Object.keys(document.paths))
    for (const other of [`${path}/more`, `${path}s`, path.replace('/v1/', '/v2/')])
      if (!isDescribed(other)) expect(await verdictOn('post', other), other).toBe('no such path');
});

test('every endpoint that takes a body describes it, and every one describes its errors', () => {
  for (const [path, operations] of Object.entries(document.paths))
    for (const operation of Object.values(operations)) {
      const shape = ERROR_SHAPES[dialectOf(path)];
      expect(operation).toMatchObject({
        summary: /./,
        responses: {
          '4XX': { content: { 'application/json': { schema: { $ref: `#/components/schemas/${shape}` } } } },
        },
      });
    }
  for (const path of ['/v1/responses', '/v1/messages', '/v1/images/generations', '/v1/audio/speech'])
    expect(document.paths[path]?.post).toMatchObject({
      requestBody: {
        content: { 'application/json': { schema: { required: expect.arrayContaining(['model']) } } },
      },
    });
  for (const path of ['/v1/images/edits', '/v1/audio/transcriptions'])
    expect(document.paths[path]?.post).toMatchObject({
      requestBody: {
        content: { 'multipart/form-data': { schema: { required: expect.arrayContaining(['model']) } } },
      },
    });
});

/** Whether some path of the document, with its `{id}`, fits. */
function isDescribed(path: string): boolean {
  const concrete = path.replaceAll(/\{\w+\}/g, 'some_id');
  return Object.keys(document.paths).some((described) =>
    new RegExp(`^${described.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(concrete),
  );
}
