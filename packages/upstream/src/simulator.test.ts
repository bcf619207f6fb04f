import { startSimulator } from '@gateway/simulator/start-simulator';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfiguration } from './configuration/load-configuration.ts';
import { PRESETS } from './configuration/presets/presets.ts';
import { OPERATIONS } from './protocol.ts';
import { multipartBody } from './requests/multipart-body.ts';
import { createUpstream } from './upstream.ts';

const form = multipartBody([{ name: 'model', value: 'x' }]);
const toJson = { 'content-type': 'application/json' };
const messages = [{ role: 'user', content: 'Hello' }];

/** Sessions over WebSockets have their own tests. */
type Operation = Exclude<keyof typeof PRESETS.simulator.paths, 'realtime'>;

/** A request of each kind. The forms lack their files: the provider's error about that shows that they arrived. */
const REQUESTS: Readonly<Record<Operation, { model: string; body: object | typeof form; status: number }>> = {
  responses: { model: 'gpt-5.2', body: { input: 'Hello' }, status: 200 },
  'responses.input_tokens': { model: 'gpt-5.2', body: { input: 'Hello' }, status: 200 },
  'responses.compact': { model: 'gpt-5.2', body: { input: 'Hello' }, status: 200 },
  messages: { model: 'claude-sonnet-5', body: { max_tokens: 9, messages }, status: 200 },
  'messages.count_tokens': { model: 'claude-sonnet-5', body: { messages }, status: 200 },
  chat: { model: 'gpt-5.2', body: { messages }, status: 200 },
  'images.generations': { model: 'gpt-image-2', body: { prompt: 'A cat' }, status: 200 },
  'images.edits': { model: 'gpt-image-2', body: form, status: 400 },
  speech: { model: 'gpt-4o-mini-tts', body: { input: 'Hello', voice: 'alloy' }, status: 200 },
  transcriptions: { model: 'whisper-1', body: form, status: 400 },
  translations: { model: 'whisper-1', body: form, status: 400 },
  embeddings: { model: 'text-embedding-3-small', body: { input: 'Hello' }, status: 200 },
  rerank: { model: 'rerank-v4.0', body: { query: 'Hello', documents: ['Hi'] }, status: 200 },
  moderations: { model: 'omni-moderation-latest', body: { input: 'Hello' }, status: 200 },
  completions: { model: 'gpt-5.2', body: { prompt: 'Hello' }, status: 200 },
};
const operations = Object.keys(PRESETS.simulator.paths).filter(
  (name): name is Operation => name in PRESETS.simulator.paths && name !== 'realtime',
);

test.for(operations)('without file and keys, %s reaches the simulator at its path', async (operation) => {
  const simulator = await startSimulator();
  onTestFinished(() => simulator.close());
  const env = { SIMULATOR_URL: simulator.url };
  const configuration = await loadConfiguration({ path: '/nonexistent/gateway.yaml', env });
  const upstream = createUpstream({ configuration });
  onTestFinished(() => upstream.close());
  const { model: name, body, status } = REQUESTS[operation];
  const model = upstream.resolveModel(name);
  if (model === null) throw new Error('no model');
  const sent = upstream
    .send({
      candidates: upstream.candidates({ model, protocol: OPERATIONS[operation] }),
      request: (candidate) => ({
        operation,
        method: 'POST',
        headers: 'open' in body ? { 'content-type': form.contentType } : toJson,
        body: 'open' in body ? form : JSON.stringify({ ...body, model: candidate.model }),
      }),
      dialect: operation.startsWith('messages') ? 'anthropic' : 'openai',
      work: 'free',
      streamed: false,
    })
    .then(async (reply) => {
      await reply.bytes(10_000_000);
      return reply.status;
    });
  if (status === 200) expect(await sent).toBe(200);
  else
    await expect(sent).rejects.toMatchObject({ code: 'upstream_rejected', options: { relay: { status } } });
});
