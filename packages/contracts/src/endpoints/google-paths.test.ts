import { expect, test } from 'vitest';
import { dialectOf, ENDPOINTS } from './endpoints.ts';
import { createPathTable, paramsOf } from './path-table.ts';

const find = createPathTable(ENDPOINTS);

test.for([
  ['/v1beta/models/gpt-5.2:generateContent', 'gpt-5.2'],
  ['/v1/models/org/some:model:streamGenerateContent', 'org/some:model'],
  ['/v1beta/models/a%2Fb:countTokens', 'a/b'],
] as const)('%s names its model', ([path, model]) => {
  const endpoint = find(path)?.endpoints.get('POST');
  if (endpoint === undefined) throw new Error('no such path');
  expect(paramsOf(endpoint, path)).toEqual({ model });
  expect(dialectOf(path)).toBe('google');
});

test.for([
  '/v1beta/models/../x:generateContent',
  '/v1beta/models/:generateContent',
  '/v1beta/models/m:embed',
])('%s calls nothing', (path) => {
  expect(find(path)?.endpoints.get('POST')).toBeUndefined();
});

test.for(['/v1/cachedContents/one', '/v1/interactions', '/v1beta/cachedContents'])(
  '%s, which only clients of Google call, is refused in their form',
  (path) => {
    expect(dialectOf(path)).toBe('google');
  },
);

test('a model with a colon is read as any other', () => {
  expect(find('/v1/models/vendor:model')?.path).toBe('/v1/models/{id}');
  expect(dialectOf('/v1/models/vendor:model')).toBe('openai');
});
