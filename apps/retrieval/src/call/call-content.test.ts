import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startRetrieval, type TestRetrieval } from '../testing/start-retrieval.ts';

const CONFIGURATION = (url: string) => `
channels:
  one: { provider: simulator, baseUrl: "${url}", apiKey: sk-one, cooldown: off }
models:
  text-embedding-3-small: { kind: embedding, routes: [{ channel: one }] }
  rerank-v4.0: { kind: rerank, routes: [{ channel: one }] }
  omni-moderation-latest: { kind: moderation, routes: [{ channel: one }] }
  quiet: { kind: embedding, routes: [{ channel: one }] }
contentLog: { rules: [{ models: ['*-*'] }] }
`;

let retrieval: TestRetrieval;
beforeAll(async () => {
  retrieval = await startRetrieval({ configuration: CONFIGURATION });
});
afterAll(() => retrieval.close());
beforeEach(() => retrieval.simulator.reset());

async function lines(): Promise<string[]> {
  const folder = join(retrieval.dataDir, 'content-spool');
  const names = await readdir(folder).catch(() => []);
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8').catch(() => '')));
  return texts.join('').split('\n');
}

const logged = async (requestId: string) =>
  JSON.parse(
    await waitFor(async () => (await lines()).find((one) => one.includes(`"requestId":"${requestId}"`))),
  );

const send = async (path: string, body: object, headers: Record<string, string> = {}) => {
  const reply = await retrieval.post(path, body, headers);
  return {
    status: reply.status,
    requestId: reply.headers.get('x-request-id') ?? '',
    body: Object(await reply.json()),
  };
};

test('what was sorted and judged is logged with its answer, and mail addresses are taken out', async () => {
  const order = { model: 'rerank-v4.0', query: 'ann.lee@example.com', documents: ['one', 'two'] };
  const ranked = await send('/v1/rerank', order);
  expect(await logged(ranked.requestId)).toMatchObject({
    ...{ endpoint: 'rerank', model: 'rerank-v4.0', channel: 'one', keyId: 'key_1' },
    request: { query: '[email]', documents: ['one', 'two'] },
    answer: { results: ranked.body.results },
  });
  const judged = await send('/v1/moderations', { input: 'I hate it' });
  expect(await logged(judged.requestId)).toMatchObject({
    ...{ endpoint: 'moderations', request: { input: 'I hate it' }, answer: { results: [{ flagged: true }] } },
  });
});

test('of embeddings the texts are logged, and no vectors', async () => {
  const { requestId } = await send('/v1/embeddings', {
    model: 'text-embedding-3-small',
    input: ['one', 'two'],
  });
  const { request, answer } = await logged(requestId);
  expect(request.input).toEqual(['one', 'two']);
  expect(answer).toEqual({
    ...{ object: 'list', model: 'text-embedding-3-small', vectors: 2 },
    usage: { prompt_tokens: 2, total_tokens: 2 },
  });
});

test('a request that failed is logged with its error, and the usage record names the object', async () => {
  const { requestId, status } = await send(
    '/v1/moderations',
    { input: '[[simulate status=400]]' },
    retrieval.headersFor({ keyId: 'key_failed' }),
  );
  expect(status).toBe(400);
  expect(await logged(requestId)).toMatchObject({ answer: null, error: { code: 'upstream_rejected' } });
  expect((await retrieval.accounted('key_failed'))[0]?.detail).toHaveProperty('contentObject');
});

test('what no rule names is not logged, and a caller who may not choose is refused', async () => {
  const quiet = await send('/v1/embeddings', { model: 'quiet', input: 'secret' });
  const off = { 'x-gateway-content-log': 'off' };
  const refused = await send('/v1/moderations', { input: 'kept out' }, off);
  expect([refused.status, refused.body]).toMatchObject([403, { error: { code: 'content_log_required' } }]);
  await logged((await send('/v1/moderations', { input: 'after it' })).requestId);
  expect((await lines()).filter((one) => one.includes(quiet.requestId) || one.includes('kept out'))).toEqual(
    [],
  );
});
