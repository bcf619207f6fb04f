import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { collectSse } from './collect-sse.ts';

const servers: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function answer(type: string, body: string, { cut = false } = {}): Promise<Response> {
  const server = createServer((_req, res) => {
    res.writeHead(200, { 'content-type': type });
    if (cut) res.write(body, () => res.destroy());
    else res.end(body);
  });
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return fetch(`http://127.0.0.1:${address.port}`);
}

test('events keep their names, their data and their order', async () => {
  const response = await answer(
    'text/event-stream; charset=utf-8',
    'event: a\ndata: {"n":1}\n\n: comment\n\ndata: [DONE]\n\n',
  );
  expect(await collectSse(response)).toEqual([
    { event: 'a', data: '{"n":1}', json: { n: 1 } },
    { event: undefined, data: '[DONE]', json: undefined },
  ]);
});

test('a cut stream rejects', async () => {
  const response = await answer('text/event-stream', 'data: 1\n\n', { cut: true });
  await expect(collectSse(response)).rejects.toThrow();
});

test('an answer that is not a stream is shown', async () => {
  const response = await answer('application/json', '{"error":"no"}');
  await expect(collectSse(response)).rejects.toThrow('{"error":"no"}');
});
