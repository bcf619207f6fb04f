import { ENDPOINTS, WEBSOCKET } from '@gateway/contracts/endpoints/endpoints';
import { expect, test } from 'vitest';
import { priorityOf } from './load-guard.ts';

const prioritiesAt = (method: string, path: string) => {
  const endpoint = [WEBSOCKET, ...ENDPOINTS].find((one) => one.method === method && one.path === path);
  if (endpoint === undefined) throw new Error(`no endpoint ${method} ${path}`);
  return [{ priority: 'low' } as const, {}, null].map((identity) => priorityOf(endpoint, identity));
};

test('new work has the priority of its key, and so has a WebSocket, which leads to new work', () => {
  expect(prioritiesAt('POST', '/v1/responses')).toEqual(['low', 'normal', 'normal']);
  expect(prioritiesAt('GET', WEBSOCKET.path)).toEqual(['low', 'normal', 'normal']);
});

test('reading and cancelling are refused last', () => {
  expect(prioritiesAt('GET', '/v1/responses/{id}')).toEqual(['high', 'high', 'high']);
  expect(prioritiesAt('POST', '/v1/responses/{id}/cancel')).toEqual(['high', 'high', 'high']);
});
