import { type AnthropicProvider, createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI, type OpenAIProvider } from '@ai-sdk/openai';
import {
  cosineSimilarity,
  embed,
  embedMany,
  generateImage,
  generateSpeech,
  generateText,
  streamText,
  transcribe,
} from 'ai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { wavFile } from './support/media-files.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** The Vercel AI SDK checks what it reads more strictly than the official clients do. */

let gateway: Gateway;
let openai: OpenAIProvider;
let anthropic: AnthropicProvider;
beforeAll(async () => {
  gateway = await startGateway({
    services: ['edge', 'text', 'image', 'image-worker', 'audio', 'audio-worker', 'retrieval'],
  });
  const settings = { baseURL: `${gateway.url}/v1`, apiKey: gateway.key };
  openai = createOpenAI(settings);
  anthropic = createAnthropic(settings);
});
afterAll(() => gateway?.close());

const MODELS = [
  ['OpenAI', () => openai('gpt-5.2')],
  ['Anthropic', () => anthropic('claude-sonnet-5-5')],
] as const;

test.for(MODELS)('%s: a text, and what it cost', async ([, model]) => {
  const { text, usage, finishReason } = await generateText({
    model: model(),
    prompt: 'What is up?',
    maxRetries: 0,
  });
  expect(text).toBe('You said: What is up?');
  expect(finishReason).toBe('stop');
  expect(usage).toMatchObject({ inputTokens: 3, outputTokens: 6 });
});

test.for(MODELS)('%s: a streamed text', async ([, model]) => {
  const stream = streamText({ model: model(), prompt: 'What is up?', maxRetries: 0 });
  const parts: string[] = [];
  for await (const part of stream.textStream) parts.push(part);
  expect(parts.join('')).toBe('You said: What is up?');
  expect(parts.length).toBeGreaterThan(1);
  expect(await stream.finishReason).toBe('stop');
});

test.for(MODELS)('%s: an error that is worth a retry is known as one', async ([, model]) => {
  const failing = generateText({ model: model(), prompt: '[[simulate overloaded]]', maxRetries: 0 });
  await expect(failing).rejects.toMatchObject({ isRetryable: true });
  const refused = generateText({ model: model(), prompt: '[[simulate status=400]]', maxRetries: 0 });
  await expect(refused).rejects.toMatchObject({ isRetryable: false, statusCode: 400 });
});

test('vectors of one text and of many', async () => {
  const model = openai.embedding('text-embedding-3-small');
  const query = await embed({ model, value: 'when do keys expire' });
  const values = ['keys expire after ninety days', 'the canteen opens at eight'];
  const { embeddings, usage } = await embedMany({ model, values });
  expect(usage.tokens).toBe(15);
  const [keys = 0, canteen = 0] = embeddings.map((vector) => cosineSimilarity(query.embedding, vector));
  expect(keys).toBeGreaterThan(canteen + 0.2);
});

test('an image', async () => {
  const { image } = await generateImage({
    model: openai.image('dall-e-3'),
    prompt: 'a house',
    size: '1024x1024',
  });
  expect(image.mediaType).toBe('image/png');
  expect(image.uint8Array.length).toBeGreaterThan(100);
});

test('speech', async () => {
  const { audio } = await generateSpeech({ model: openai.speech('tts-1'), text: 'hello', voice: 'alloy' });
  expect(audio.mediaType).toBe('audio/mpeg');
  expect(audio.uint8Array.length).toBeGreaterThan(1000);
});

test('a transcript', async () => {
  const audio = new Uint8Array(await wavFile(4).arrayBuffer());
  const { text, durationInSeconds } = await transcribe({ model: openai.transcription('whisper-1'), audio });
  expect(text.split(' ')).toHaveLength(10);
  expect(durationInSeconds).toBe(4);
});
