import { expect, test } from 'vitest';
import { ENDPOINTS } from './endpoints.ts';
import { createPathTable, paramsOf, pathOf } from './path-table.ts';

const find = createPathTable(ENDPOINTS);

test('every endpoint is found by its path and method', () => {
  for (const endpoint of ENDPOINTS) {
    const row = find(endpoint.path.replaceAll('{id}', 'resp_123'));
    expect(row?.path).toBe(endpoint.path);
    expect(row?.endpoints.get(endpoint.method)).toBe(endpoint);
  }
});

test('HEAD is allowed exactly where GET is', () => {
  expect(find('/v1/responses/resp_1')?.endpoints.get('HEAD')?.method).toBe('GET');
  expect(find('/v1/responses/resp_1')?.allow).toBe('GET, DELETE, HEAD, OPTIONS');
  expect(find('/v1/responses')?.endpoints.has('HEAD')).toBe(false);
});

test.for([
  '/v1/unknown',
  '/v1/responses/',
  '/v1/responses/a/b',
  '/v1/responses//cancel',
  '/v1/responses/..',
  '/v1/responses/%2E%2e/cancel',
  '/v1/messages/x/y',
])('%s is not a path of the gateway', (path) => {
  expect(find(path)).toBeUndefined();
});

test('a path of its own is not an id', () => {
  expect(find('/v1/responses/compact')?.allow).toBe('POST, OPTIONS');
  expect(find('/v1/responses/compact_1')?.path).toBe('/v1/responses/{id}');
});

test('the value of {id} is unescaped once, with any content', () => {
  const path = pathOf('/v1/models/org%2Fmodel%2520a?after=%2F');
  const endpoint = find(path)?.endpoints.get('GET');
  if (endpoint === undefined) throw new Error('no such path');
  expect(paramsOf(endpoint, path)).toEqual({ id: 'org/model%20a' });
});
