import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bedrock } from '@gateway/simulator/clouds/bedrock';
import { startSimulator } from '@gateway/simulator/start-simulator';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { expect, onTestFinished, test } from 'vitest';
import { parseConfiguration } from '../configuration/parse-configuration.ts';
import type { Operation } from '../protocol.ts';
import type { Attempt } from '../replies/reply.ts';
import { createUpstream } from '../upstream.ts';
import { type Body, requestOf } from './library-calls-for-tests.ts';

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'a-secret-access-key' };

const CONFIGURATION = (url: string) => `
channels:
  one: { provider: bedrock, region: us-east-1, baseUrl: "${url}", auth: { type: aws, accessKeyId: AKIDEXAMPLE, secretAccessKey: a-secret-access-key } }
  mistaken: { provider: bedrock, region: us-east-1, baseUrl: "${url}", auth: { type: aws, accessKeyId: AKIDEXAMPLE, secretAccessKey: another-secret } }
models:
  nova: { kind: image, routes: [{ channel: one, model: "amazon.nova-canvas-v1:0" }] }
  ultra: { kind: image, routes: [{ channel: one, model: "stability.stable-image-ultra-v1:1" }] }
  core: { kind: image, routes: [{ channel: one, model: "stability.stable-image-core-v1:1" }] }
  twice: { kind: image, routes: [{ channel: mistaken, model: "amazon.nova-canvas-v1:0" }, { channel: one, model: "amazon.nova-canvas-v1:0", priority: 1 }] }
`;

async function start() {
  const gate = { ...KEYS, region: 'us-east-1', service: 'bedrock', endpoint: 'runtime' } as const;
  const simulator = await startSimulator({ cloud: bedrock(gate) });
  onTestFinished(() => simulator.close());
  const attempts: Attempt[] = [];
  const upstream = createUpstream({
    configuration: parseConfiguration(CONFIGURATION(simulator.url), 'gateway.yaml', {}),
    onAttempt: (attempt) => attempts.push(attempt),
  });
  onTestFinished(() => upstream.destroy());
  const make = async (name: string, body: Body, operation: Operation = 'images.generations') => {
    const model = upstream.resolveModel(name);
    if (model === null) throw new Error(`no model ${name}`);
    const reply = await upstream.send({
      candidates: upstream.candidates({ model, protocol: 'images' }),
      request: () => requestOf(operation, body),
      dialect: 'openai',
      work: 'paid',
      streamed: false,
    });
    return { dropped: reply.dropped, ...Object(JSON.parse((await reply.bytes(1e6)).toString())) };
  };
  return { simulator, make, attempts };
}

/** The parts of an edit's form, with the file of an image. */
async function editOf(more: readonly string[] = []) {
  const folder = await temporaryFolder();
  onTestFinished(() => folder.close());
  const path = join(folder.path, 'image.png');
  await writeFile(path, 'an image');
  const file = { path, fileName: 'image.png', contentType: 'image/png', sizeBytes: 8 };
  return [{ name: 'prompt', value: 'In the rain' }, ...['image', ...more].map((name) => ({ name, ...file }))];
}

const PICTURE = { b64_json: expect.stringMatching(/^iVBORw0KGgo/) };
const IMAGE = Buffer.from('an image').toString('base64');

test('Nova Canvas makes several images in one signed call, with the size and the quality in its words', async () => {
  const { simulator, make } = await start();
  const order = { prompt: 'A lighthouse', n: 3, size: '1536x1024', quality: 'high', seed: 7 };
  const made = await make('nova', { ...order, negative_prompt: 'people', style: 'vivid' });
  expect(made.data).toEqual([PICTURE, PICTURE, PICTURE]);
  expect(made.dropped).toEqual(['style']);
  expect(simulator.requests.map(({ path }) => path)).toEqual(['/model/amazon.nova-canvas-v1%3A0/invoke']);
  expect(simulator.requests[0]?.json()).toEqual({
    taskType: 'TEXT_IMAGE',
    textToImageParams: { text: 'A lighthouse', negativeText: 'people' },
    imageGenerationConfig: { numberOfImages: 3, width: 1536, height: 1024, quality: 'premium', seed: 7 },
  });
});

test("Stability's models make one image in a call, in the nearest ratio, and the lost size is named", async () => {
  const { simulator, make } = await start();
  const order = { prompt: 'A lighthouse', n: 2, size: '1536x1000', negative_prompt: 'people', seed: 7 };
  const made = await make('ultra', { ...order, quality: 'high' });
  expect(made.data).toEqual([PICTURE, PICTURE]);
  expect(made.dropped).toEqual(['quality', 'size']);
  expect(simulator.requests).toHaveLength(2);
  expect(simulator.requests[0]?.json()).toEqual({
    ...{ prompt: 'A lighthouse', mode: 'text-to-image', aspect_ratio: '3:2' },
    ...{ negative_prompt: 'people', seed: 7 },
  });
});

test('an edit is a variation at Amazon and image to image at Stability', async () => {
  const { simulator, make } = await start();
  const parts = await editOf();
  expect((await make('nova', parts, 'images.edits')).data).toEqual([PICTURE]);
  expect((await make('ultra', parts, 'images.edits')).data).toEqual([PICTURE]);
  expect(simulator.requests.map((request) => request.json())).toEqual([
    {
      taskType: 'IMAGE_VARIATION',
      imageVariationParams: { text: 'In the rain', images: [IMAGE] },
      imageGenerationConfig: { numberOfImages: 1 },
    },
    { prompt: 'In the rain', mode: 'image-to-image', image: IMAGE, strength: 0.7 },
  ]);
});

test('a mask, and an image for a model that edits none, are refused before anything is sent', async () => {
  const { simulator, make } = await start();
  const masked = make('nova', await editOf(['mask']), 'images.edits');
  await expect(masked).rejects.toMatchObject({ code: 'unsupported_parameter' });
  await expect(make('core', await editOf(), 'images.edits')).rejects.toMatchObject({
    code: 'array_above_max_length',
  });
  expect(simulator.requests).toEqual([]);
});

test.for([
  ['nova', 'content filters'],
  ['ultra', 'Filter reason: prompt'],
] as const)('what %s filters is refused to the caller in its words', async ([name, words]) => {
  const { make } = await start();
  await expect(make(name, { prompt: 'Some forbidden words' })).rejects.toMatchObject({
    code: 'upstream_rejected',
    message: expect.stringContaining(words),
  });
});

test('a channel whose signature is refused gives way to the next one', async () => {
  const { make, attempts } = await start();
  expect((await make('twice', { prompt: 'A lighthouse' })).data).toEqual([PICTURE]);
  expect(attempts.map(({ channel }) => channel)).toEqual(['mistaken', 'one']);
  expect(attempts.at(-1)?.outcome).toBe('ok');
});

test("what AWS refuses of a request reaches the caller in AWS' words", async () => {
  const { make } = await start();
  await expect(make('nova', { prompt: 'A lighthouse', size: '100x100' })).rejects.toThrow(/multiples of 16/);
});
