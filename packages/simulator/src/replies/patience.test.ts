import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { createPatience } from './patience.ts';

test.for([
  ['for ever', undefined],
  ['for ten minutes', 600_000],
  ['for a promise that stays open', new Promise<void>(() => {})],
] as const)('a wait %s ends when the client leaves', async ([_name, until]) => {
  const served = Promise.withResolvers<ServerResponse>();
  const server = createServer((_request, response) => served.resolve(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const stop = new AbortController();
  const left = fetch(`http://127.0.0.1:${port}`, { signal: stop.signal }).catch((error: unknown) => error);
  const stayed = createPatience(await served.promise).wait(until);
  stop.abort();
  expect(await stayed).toBe(false);
  await left;
  server.close();
  server.closeAllConnections();
});
