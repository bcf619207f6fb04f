import { BedrockRuntimeClient, InvokeModelCommand } from '@aws-sdk/client-bedrock-runtime';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../start-simulator.ts';

let simulator: Simulator;
let client: BedrockRuntimeClient;
beforeAll(async () => {
  simulator = await startSimulator();
  client = new BedrockRuntimeClient({
    region: 'eu-central-1',
    endpoint: simulator.url,
    credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'a-secret-of-nobody' },
    maxAttempts: 1,
    // The client by itself would use HTTP/2, which the simulator does not speak.
    requestHandler: new NodeHttpHandler(),
  });
});
afterAll(async () => {
  client.destroy();
  await simulator.close();
});
beforeEach(() => simulator.reset());

const answerOf = async (modelId: string, body: object) => {
  const reply = await client.send(
    new InvokeModelCommand({ modelId, body: JSON.stringify(body), contentType: 'application/json' }),
  );
  return JSON.parse(Buffer.from(reply.body).toString());
};

const NOVA = 'amazon.nova-canvas-v1:0';
const ULTRA = 'stability.stable-image-ultra-v1:1';
const PNG = /^iVBORw0KGgo/;
const textToImageParams = { text: 'A lighthouse' };

test("AWS' client gets images of Amazon's and of Stability's models, each with its maker's body", async () => {
  const imageGenerationConfig = { numberOfImages: 2, width: 1024, height: 512, quality: 'premium', seed: 7 };
  const nova = await answerOf(NOVA, { taskType: 'TEXT_IMAGE', textToImageParams, imageGenerationConfig });
  expect(nova.images).toEqual([expect.stringMatching(PNG), expect.stringMatching(PNG)]);
  const imageVariationParams = { ...textToImageParams, images: [nova.images[0]] };
  const varied = await answerOf(NOVA, { taskType: 'IMAGE_VARIATION', imageVariationParams });
  expect(varied.images).toHaveLength(1);
  const ultra = await answerOf(ULTRA, {
    prompt: 'A lighthouse',
    aspect_ratio: '16:9',
    output_format: 'jpeg',
  });
  expect(ultra).toMatchObject({ finish_reasons: [null], images: [expect.stringMatching(/^\/9j\//)] });
});

test('what is filtered is said in an answer', async () => {
  const text = 'forbidden words';
  const nova = await answerOf(NOVA, { taskType: 'TEXT_IMAGE', textToImageParams: { text } });
  expect(nova).toEqual({ images: [], error: expect.stringContaining('content filters') });
  expect(await answerOf(ULTRA, { prompt: text })).toEqual({ finish_reasons: ['Filter reason: prompt'] });
});

test.for([
  [NOVA, { taskType: 'TEXT_IMAGE', textToImageParams, prompt: 'x' }, /extraneous key \[prompt\]/],
  [
    NOVA,
    { taskType: 'TEXT_IMAGE', textToImageParams, imageGenerationConfig: { width: 100 } },
    /multiples of 16/,
  ],
  [ULTRA, { prompt: 'x', aspect_ratio: '3:1' }, /not a valid enum value/],
  [ULTRA, { prompt: 'x', n: 2 }, /extraneous key \[n\]/],
  [ULTRA, { prompt: 'x', mode: 'image-to-image', image: 'iVBORw0KGgo=' }, /\[strength\]/],
  ['stability.stable-image-core-v1:1', { prompt: 'x', mode: 'image-to-image' }, /not a valid enum value/],
] as const)('%s refuses %o', async ([modelId, body, message]) => {
  await expect(answerOf(modelId, body)).rejects.toThrow(message);
});
