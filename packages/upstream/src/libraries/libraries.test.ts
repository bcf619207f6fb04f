import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startSquid } from '@gateway/testkit/start-squid';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Operation } from '../protocol.ts';
import type { MultipartPart } from '../requests/multipart-body.ts';
import { type Body, type LibraryChannel, requestOf, send, upstreamOf } from './library-calls-for-tests.ts';
import { replay } from './replay-for-tests.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeAll(async () => {
  folder = await temporaryFolder();
  await writeFile(join(folder.path, 'a.png'), PNG);
  await writeFile(join(folder.path, 'a.wav'), WAV);
});
afterAll(() => folder.close());

const PNG = Buffer.from(
  '89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cf500f0003810180',
  'hex',
);
const WAV = Buffer.from('524946460000000057415645', 'hex');

const file = (name: string, fileName: string, contentType: string, bytes: Buffer): MultipartPart => ({
  name,
  path: join(folder.path, fileName),
  fileName,
  contentType,
  sizeBytes: bytes.length,
});
const png = (name = 'image') => file(name, 'a.png', 'image/png', PNG);
const wav = () => file('file', 'a.wav', 'audio/wav', WAV);
const field = (name: string, value: string): MultipartPart => ({ name, value });

const image = { b64_json: PNG.toString('base64') };
const turns = (duration: number) => ({
  task: 'transcribe',
  duration,
  text: 'A: Good morning.\nB: Hello there.',
  segments: [
    {
      type: 'transcript.text.segment',
      id: 'seg_001',
      start: 0.1,
      end: 0.8,
      text: 'Good morning.',
      speaker: 'A',
    },
    {
      type: 'transcript.text.segment',
      id: 'seg_002',
      start: 1.9,
      end: 2.7,
      text: 'Hello there.',
      speaker: 'B',
    },
  ],
});
const figures = { tokens: [], temperature: 0, avg_logprob: 0, compression_ratio: 0, no_speech_prob: 0 };
const segments = [
  { id: 0, seek: 10, start: 0.1, end: 0.8, text: 'Good morning.', ...figures },
  { id: 1, seek: 190, start: 1.9, end: 2.7, text: 'Hello there.', ...figures },
];

interface Row {
  readonly exchange: string;
  readonly channel: Omit<LibraryChannel, 'origin'>;
  readonly operation: Operation;
  readonly body: () => Body;
  /** JSON, or the bytes. */
  readonly reply: unknown;
  readonly dropped?: readonly string[];
}

const JSON_TYPE = 'application/json';
const MP3 = Buffer.concat([
  Buffer.from('ID3\x04\0\0\0\0\0\0', 'latin1'),
  ...Array<Buffer>(16).fill(Buffer.from([0xff, 0xfb, 0x90, 0x64])),
]);

const speech = { model: 'm', input: 'Good morning.', voice: 'JBFqnCBsd6RMkjVDRZzb' };
const picture = { model: 'm', prompt: 'A lighthouse', response_format: 'b64_json' };

const ROWS: readonly Row[] = [
  {
    exchange: 'elevenlabs-speech',
    channel: { library: 'elevenlabs', protocol: 'speech', model: 'eleven_multilingual_v2' },
    operation: 'speech',
    body: () => ({ ...speech, speed: 1.1, instructions: 'Cheerfully' }),
    reply: MP3,
    dropped: ['instructions'],
  },
  {
    exchange: 'elevenlabs-transcription',
    channel: { library: 'elevenlabs', protocol: 'transcriptions', model: 'scribe_v2' },
    operation: 'transcriptions',
    body: () => [
      field('model', 'm'),
      field('language', 'en'),
      field('prompt', 'Names.'),
      field('response_format', 'verbose_json'),
      field('timestamp_granularities[]', 'word'),
      wav(),
    ],
    reply: {
      task: 'transcribe',
      language: 'english',
      duration: 2.7,
      text: 'Good morning. Hello there.',
      words: [
        { word: 'Good', start: 0.1, end: 0.3 },
        { word: 'morning.', start: 0.32, end: 0.8 },
        { word: 'Hello', start: 1.9, end: 2.2 },
        { word: 'there.', start: 2.3, end: 2.7 },
      ],
    },
    dropped: ['prompt'],
  },
  {
    exchange: 'elevenlabs-transcription',
    channel: { library: 'elevenlabs', protocol: 'transcriptions', model: 'scribe_v2' },
    operation: 'transcriptions',
    body: () => [field('language', 'en'), field('response_format', 'diarized_json'), wav()],
    reply: turns(2.7),
  },
  {
    exchange: 'deepgram-speech',
    channel: { library: 'deepgram', protocol: 'speech', model: 'aura-2' },
    operation: 'speech',
    body: () => ({ ...speech, voice: { id: 'thalia' } }),
    reply: MP3,
  },
  {
    exchange: 'deepgram-transcription',
    channel: { library: 'deepgram', protocol: 'transcriptions', model: 'nova-3' },
    operation: 'transcriptions',
    body: () => [field('language', 'en'), field('response_format', 'diarized_json'), wav()],
    reply: { ...turns(2.9), usage: { type: 'duration', seconds: 3 } },
  },
  {
    exchange: 'deepgram-transcription-plain',
    channel: { library: 'deepgram', protocol: 'transcriptions', model: 'nova-3' },
    operation: 'transcriptions',
    body: () => [field('response_format', 'verbose_json'), field('stream', 'true'), wav()],
    reply: {
      task: 'transcribe',
      language: 'english',
      duration: 2.9,
      text: 'Good morning. Hello there.',
      segments,
      usage: { type: 'duration', seconds: 3 },
    },
  },
  {
    exchange: 'assemblyai-transcription',
    channel: { library: 'assemblyai', protocol: 'transcriptions', model: 'universal-3-5-pro' },
    operation: 'transcriptions',
    body: () => [
      field('language', 'en'),
      field('prompt', 'Names.'),
      field('temperature', '0.2'),
      field('keywords[]', 'Alma'),
      field('response_format', 'diarized_json'),
      wav(),
    ],
    reply: { ...turns(3), usage: { type: 'duration', seconds: 3 } },
  },
  {
    exchange: 'assemblyai-transcription-plain',
    channel: { library: 'assemblyai', protocol: 'transcriptions', model: 'universal-3-5-pro' },
    operation: 'transcriptions',
    body: () => [field('response_format', 'json'), wav()],
    reply: { text: 'Good morning. Hello there.', usage: { type: 'duration', seconds: 3 } },
  },
  {
    exchange: 'google-image',
    channel: { library: 'google', protocol: 'images', model: 'gemini-2.5-flash-image' },
    operation: 'images.generations',
    body: () => ({ ...picture, size: '1536x1024', seed: 7, quality: 'high', background: 'auto' }),
    reply: { data: [image], usage: { input_tokens: 9, output_tokens: 1290, total_tokens: 1299 } },
    dropped: ['quality'],
  },
  {
    exchange: 'google-edit',
    channel: { library: 'google', protocol: 'images', model: 'gemini-2.5-flash-image' },
    operation: 'images.edits',
    body: () => [field('prompt', 'Add a rainbow'), field('size', 'auto'), png()],
    reply: { data: [image], usage: { input_tokens: 9, output_tokens: 1290, total_tokens: 1299 } },
  },
  {
    exchange: 'google-transcription',
    channel: { library: 'google', protocol: 'transcriptions', model: 'gemini-3.5-transcribe' },
    operation: 'transcriptions',
    body: () => [
      field('language', 'en'),
      field('keywords[]', 'Alma'),
      field('response_format', 'verbose_json'),
      wav(),
    ],
    reply: {
      task: 'transcribe',
      language: 'unknown',
      duration: 0.8,
      text: 'Good morning.',
      segments: [{ id: 0, seek: 10, start: 0.1, end: 0.8, text: 'Good morning.', ...figures }],
    },
  },
  {
    exchange: 'black-forest-labs-image',
    channel: { library: 'black-forest-labs', protocol: 'images', model: 'flux-pro-1.1' },
    operation: 'images.generations',
    body: () => ({ ...picture, size: '1024x768', output_format: 'png', seed: 7 }),
    reply: { data: [image] },
  },
  {
    exchange: 'fal-image',
    channel: { library: 'fal', protocol: 'images', model: 'fal-ai/flux/dev' },
    operation: 'images.generations',
    body: () => ({ ...picture, size: '1024x768', output_format: 'png', seed: 7, n: 2, user: 'u1' }),
    reply: { data: [image, image] },
    dropped: ['user'],
  },
  {
    exchange: 'fal-edit',
    channel: { library: 'fal', protocol: 'images', model: 'fal-ai/flux-lora/inpainting' },
    operation: 'images.edits',
    body: () => [field('prompt', 'Add a rainbow'), png(), png('mask')],
    reply: { data: [image] },
  },
  {
    exchange: 'replicate-image',
    channel: { library: 'replicate', protocol: 'images', model: 'black-forest-labs/flux-schnell' },
    operation: 'images.generations',
    body: () => ({ ...picture, size: '1024x768', output_format: 'jpeg', seed: 7 }),
    reply: { data: [image] },
  },
];

/** Has an exchange happen again, and resolves to the requests of it. */
async function happensAgain(
  { exchange, channel, operation, body, reply: expected, dropped = [] }: Row,
  at: (origin: string) => Pick<LibraryChannel, 'origin' | 'settings'> = (origin) => ({ origin }),
): Promise<readonly string[]> {
  const provider = await replay(exchange);
  const upstream = upstreamOf([{ ...channel, ...at(provider.origin) }]);
  const reply = await send(upstream, requestOf(operation, body()), channel).catch((error: unknown) => {
    expect(provider.complaints).toEqual([]);
    throw error;
  });
  const bytes = await reply.bytes(1_000_000);
  expect(Buffer.isBuffer(expected) ? bytes : JSON.parse(bytes.toString())).toEqual(expected);
  expect(reply.headers['content-type']).toBe(Buffer.isBuffer(expected) ? 'audio/mpeg' : JSON_TYPE);
  expect(reply.dropped).toEqual(dropped);
  expect(provider.complaints).toEqual([]);
  expect(provider.left).toEqual([]);
  await upstream.close();
  return provider.requests;
}

test.for(ROWS.map((row) => [row.exchange, row] as const))(
  '%s: sent as the provider wants it, answered as the protocol has it',
  async ([, row]) => {
    await happensAgain(row);
  },
);

test("every request of a library goes by its channel's proxy", async () => {
  await using squid = await startSquid(['provider.test']);
  for (const row of ROWS) {
    let named = '';
    const requests = await happensAgain(row, (origin) => {
      named = origin.replace('127.0.0.1', 'provider.test');
      return { origin: named, settings: `proxy: "${squid.url}"` };
    });
    const served = (await squid.served()).filter((line) => line.includes(named));
    // Its log has neither queries nor the same order.
    const shown = requests.map((line) => line.replace(' ', ` 200 ${named}`).replace(/\?.*/, '?'));
    expect(served.map((line) => line.replace(/ \d{3} /, ' 200 ')).toSorted()).toEqual(shown.toSorted());
  }
});
