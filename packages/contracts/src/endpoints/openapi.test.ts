import { expect, test } from 'vitest';
import { ENDPOINTS } from './endpoints.ts';
import { openapiDocument } from './openapi.ts';
import { REQUEST_BODIES } from './request-bodies.ts';

const document = openapiDocument();

test('every endpoint is described, and nothing else', () => {
  const described = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(described.toSorted()).toEqual(ENDPOINTS.map(({ method, path }) => `${method} ${path}`).toSorted());
});

test('every body belongs to an endpoint, and every endpoint that creates something has one', () => {
  const names = ENDPOINTS.map(({ method, path }) => `${method} ${path}`);
  for (const name of Object.keys(REQUEST_BODIES)) expect(names).toContain(name);
  const withoutBody = names.filter((name) => name.startsWith('POST') && !(name in REQUEST_BODIES));
  expect(withoutBody).toEqual([
    'POST /v1/responses/{id}/cancel',
    'POST /v1/batches/{id}/cancel',
    'POST /v1/messages/batches/{id}/cancel',
  ]);
});

test('what the gateway promises to check is in the description', () => {
  const schema = (path: string, type: string) => ({
    paths: { [path]: { post: { requestBody: { content: { [type]: { schema: expect.anything() } } } } } },
  });
  expect(document).toMatchObject(schema('/v1/responses', 'application/json'));
  expect(document).toMatchObject({
    paths: {
      '/v1/messages': {
        post: {
          requestBody: {
            content: {
              'application/json': {
                schema: {
                  properties: { temperature: { minimum: 0, maximum: 1 } },
                  required: expect.arrayContaining(['model', 'max_tokens', 'messages']),
                },
              },
            },
          },
        },
      },
      '/v1/images/edits': {
        post: {
          requestBody: {
            content: {
              'application/json': {
                schema: { required: expect.arrayContaining(['images', 'model', 'prompt']) },
              },
              'multipart/form-data': {
                schema: { required: expect.arrayContaining(['image', 'model', 'prompt']) },
              },
            },
          },
        },
      },
      '/v1/audio/transcriptions': {
        post: {
          requestBody: {
            content: {
              'multipart/form-data': {
                schema: {
                  properties: { file: { type: 'string' } },
                  required: expect.arrayContaining(['file', 'model']),
                },
              },
            },
          },
        },
      },
    },
  });
});

test('who reads how to ask for a response learns of the WebSocket', () => {
  expect(document).toMatchObject({
    paths: {
      '/v1/responses': {
        post: {
          description: expect.stringMatching(/GET \/v1\/responses.*Upgrade: websocket.*response\.create/),
        },
      },
    },
  });
});

test('the document is JSON that refers to nothing it does not have', () => {
  const text = JSON.stringify(document);
  for (const [, name] of text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)) {
    expect(document).toHaveProperty(['components', 'schemas', name ?? '']);
  }
  expect(text).not.toContain('undefined');
});
