import { once } from 'node:events';
import { createServer } from 'node:http';
import { createPasses } from '@gateway/metering/keys/pass';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { GATEWAY_SECRET, TOKEN } from '../testing/run-admin.ts';
import { useAdmin } from '../testing/use-admin.ts';
import { DraftTry } from './try-draft.ts';

const DELTA = 'event: response.output_text.delta\ndata: {"delta":"yes"}\n\n';
const END = 'event: response.completed\ndata: {"response":{}}\n\n';

/** An edge whose text service knows of no drafts, and what it was sent. */
const bearers: string[] = [];
const edge = createServer((request, response) => {
  bearers.push(String(request.headers.authorization).replace('Bearer ', ''));
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end(DELTA + END);
});
edge.listen(0, '127.0.0.1');
await once(edge, 'listening');
afterAll(() => void edge.close());
const address = edge.address();
if (address === null || typeof address === 'string') throw new Error('no port');
const admin = useAdmin({ env: { EDGE_URL: `http://127.0.0.1:${address.port}` } });

const TEXT = `channels:
  one: { provider: openai, apiKey: "\${KEY}" }
models:
  gpt-5: { kind: text, routes: [{ channel: one }] }
`;
const Key = z.looseObject({ id: z.string() });

async function post(path: string, body: unknown): Promise<unknown> {
  const response = await fetch(`${admin.url}/admin/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return response.json();
}

test('an answer of a text service that does not know drafts is not taken for the answer of the draft', async () => {
  const { id } = Key.parse(await post('/keys', { name: 'the only one' }));
  const tried = DraftTry.parse(
    await post('/configuration/draft/try', { text: TEXT, model: 'gpt-5', input: 'hello' }),
  );
  expect(tried).toMatchObject({
    isOk: false,
    error: expect.stringContaining('older version'),
    attempts: [],
  });
  const passes = createPasses({ gatewaySecret: GATEWAY_SECRET, now: Date.now });
  expect(passes.read(bearers[0] ?? '')).toEqual({
    ...{ keyId: id, channel: null },
    draft: expect.stringMatching(/^[0-9a-f]{32}$/),
  });
  // Nothing of the draft is left for others to find.
  expect((await admin.redis.keys('*')).filter((name) => name.includes('draft'))).toEqual([]);
});
