import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { vertex } from '@gateway/simulator/clouds/vertex';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { expect, onTestFinished, test } from 'vitest';
import { parseConfiguration } from '../configuration/parse-configuration.ts';
import type { Operation } from '../protocol.ts';
import { json, startProvider } from '../provider-for-tests.ts';
import type { Attempt } from '../replies/reply.ts';
import { createUpstream, type Upstream } from '../upstream.ts';
import { requestOf } from './library-calls-for-tests.ts';

const MODELS = `
  picture: { kind: image, routes: [{ channel: one, model: gemini-2.5-flash-image }] }
  imagen: { kind: image, routes: [{ channel: one, model: imagen-4.0-generate-001 }] }
  voice: { kind: speech, routes: [{ channel: one, model: gemini-2.5-flash-preview-tts }] }
`;

interface Started {
  readonly upstream: Upstream;
  readonly attempts: Attempt[];
  /** Milliseconds since 1970, which credentials go by. */
  nowMs: number;
}

function start(channel: string): Started {
  const configuration = parseConfiguration(
    `channels:\n  one: ${channel}\nmodels:${MODELS}`,
    'gateway.yaml',
    {},
  );
  const fixture = { attempts: [] as Attempt[], nowMs: Date.now() };
  const upstream = createUpstream({
    configuration,
    credentials: { now: () => fixture.nowMs },
    onAttempt: (attempt) => fixture.attempts.push(attempt),
  });
  onTestFinished(() => upstream.destroy());
  return Object.assign(fixture, { upstream });
}

function ask({ upstream }: Started, name: string, operation: Operation, body: object) {
  const model = upstream.resolveModel(name);
  if (model === null) throw new Error(`no model ${name}`);
  const protocol = operation === 'speech' ? 'speech' : 'images';
  return upstream.send({
    candidates: upstream.candidates({ model, protocol }),
    request: () => requestOf(operation, { model: name, ...body }),
    dialect: 'openai',
    work: 'paid',
    streamed: false,
  });
}

/** Vertex AI, whose tokens come from an exchange and can be revoked. */
async function startVertex() {
  const state = { issued: 0, answers: true };
  const tokens = await startProvider((response) => {
    if (!state.answers)
      return json(response, { error: 'invalid_grant', error_description: 'Invalid JWT' }, 400);
    state.issued += 1;
    return json(response, {
      access_token: `ya29.${state.issued}`,
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      token_type: 'Bearer',
      expires_in: 3600,
    });
  });
  const folder = await temporaryFolder();
  onTestFinished(() => folder.close());
  const at = (name: string) => join(folder.path, name);
  await writeFile(at('subject'), 'subject-token');
  await writeFile(
    at('credentials.json'),
    JSON.stringify({
      type: 'external_account',
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `${tokens.origin}/v1/token`,
      credential_source: { file: at('subject') },
    }),
  );
  const cloud = vertex({
    project: 'p1',
    location: 'eu',
    acceptsToken: (token) => token === `ya29.${state.issued}`,
  });
  const simulator = await startSimulator({ cloud });
  onTestFinished(() => simulator.close());
  const auth = `{ type: google, credentialsFile: "${at('credentials.json')}" }`;
  const fixture = start(
    `{ provider: vertex, project: p1, location: eu, baseUrl: "${simulator.url}", auth: ${auth} }`,
  );
  return { state, simulator, fixture };
}

const GOOGLES = '/v1/projects/p1/locations/eu/publishers/google/models';
const pathsOf = ({ requests }: Simulator) => requests.map(({ path }) => path);

test('images of Gemini and of Imagen, and speech, come over Vertex AI with the credentials of its texts', async () => {
  const { simulator, fixture } = await startVertex();
  const picture = JSON.parse(
    (
      await (await ask(fixture, 'picture', 'images.generations', { prompt: 'A lighthouse' })).bytes(1e6)
    ).toString(),
  );
  expect(picture).toMatchObject({
    data: [{ b64_json: expect.stringMatching(/^iVBORw0KGgo/) }],
    usage: { output_tokens: 1290 },
  });
  const order = { prompt: 'A lighthouse', n: 3, size: '1536x1024' };
  const imagen = JSON.parse(
    (await (await ask(fixture, 'imagen', 'images.generations', order)).bytes(1e6)).toString(),
  );
  expect(imagen.data).toHaveLength(3);
  const speech = await ask(fixture, 'voice', 'speech', {
    input: 'Good morning.',
    voice: 'Kore',
    response_format: 'wav',
  });
  expect((await speech.bytes(1e6)).toString()).toContain('speech.audio.done');
  expect(pathsOf(simulator)).toEqual([
    `${GOOGLES}/gemini-2.5-flash-image:generateContent`,
    ...Array(3).fill(`${GOOGLES}/imagen-4.0-generate-001:predict`),
    `${GOOGLES}/gemini-2.5-flash-preview-tts:generateContent`,
  ]);
  const { headers } = simulator.requests[0] ?? {};
  expect([headers?.authorization, headers?.['x-goog-api-key']]).toEqual(['Bearer ya29.1', undefined]);
  expect(simulator.requests[1]?.json()).toEqual({
    instances: [{ prompt: 'A lighthouse' }],
    parameters: { sampleCount: 1, aspectRatio: '4:3' },
  });
});

test('a token that ends is renewed once for an image too, and its loss is said to the operator', async () => {
  const { state, simulator, fixture } = await startVertex();
  const picture = () => ask(fixture, 'picture', 'images.generations', { prompt: 'A lighthouse' });
  await (await picture()).bytes(1e6);
  fixture.nowMs += 60_000;
  state.issued += 1;
  await (await picture()).bytes(1e6);
  expect(simulator.requests.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer ya29.1',
    'Bearer ya29.1',
    'Bearer ya29.3',
  ]);
  expect(fixture.attempts.map(({ outcome }) => outcome)).toEqual(['ok', 'ok']);
  state.answers = false;
  fixture.nowMs += 3_600_000;
  await expect(picture()).rejects.toMatchObject({ code: 'no_available_channel' });
  expect(simulator.requests).toHaveLength(3);
  expect(fixture.upstream.health.rests()).toMatchObject([
    {
      cause: 'no-credentials',
      reason: expect.stringMatching(/^it has no credentials: .*invalid_grant.*clock right$/),
    },
  ]);
});

test('what Imagen filters is refused to the caller in its words', async () => {
  const { fixture } = await startVertex();
  const filtered = ask(fixture, 'imagen', 'images.generations', { prompt: 'Some forbidden words' });
  await expect(filtered).rejects.toMatchObject({
    code: 'upstream_rejected',
    message: expect.stringContaining('Unable to show generated images'),
  });
});

test('a channel of the Gemini API has images and speech by its key, beside its texts', async () => {
  const simulator = await startSimulator({});
  onTestFinished(() => simulator.close());
  const fixture = start(`{ provider: gemini, baseUrl: "${simulator.url}/v1beta", apiKey: a-key-of-gemini }`);
  await (await ask(fixture, 'picture', 'images.generations', { prompt: 'A lighthouse' })).bytes(1e6);
  await (
    await ask(fixture, 'voice', 'speech', { input: 'Good morning.', voice: 'Kore', response_format: 'pcm' })
  ).bytes(1e6);
  expect(pathsOf(simulator)).toEqual([
    '/v1beta/models/gemini-2.5-flash-image:generateContent',
    '/v1beta/models/gemini-2.5-flash-preview-tts:generateContent',
  ]);
  expect(simulator.requests[0]?.headers['x-goog-api-key']).toBe('a-key-of-gemini');
});
