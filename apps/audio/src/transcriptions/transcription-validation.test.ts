import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { audioFile, silence } from '../testing/audio-files.ts';
import { startAudio, type TestAudio } from '../testing/start-audio.ts';

let audio: TestAudio;
beforeAll(async () => {
  audio = await startAudio();
  await audio.startWorker();
});
afterAll(() => audio.close());
beforeEach(() => audio.reset());

type Parts = readonly (readonly [name: string, value: string | File])[];

const url = () => `${audio.url}/v1/audio/transcriptions`;
const post = (parts: Parts, headers: Record<string, string> = {}) => {
  const form = new FormData();
  for (const [name, value] of parts) form.append(name, value);
  return fetch(url(), { method: 'POST', body: form, headers: { ...audio.headersFor(), ...headers } });
};
const ErrorBody = z.object({ error: z.looseObject({ message: z.string() }) });

const file = silence(1);
const valid: Parts = [
  ['file', file],
  ['model', 'whisper-1'],
];
const FORMATS = "['flac', 'm4a', 'mp3', 'mp4', 'mpeg', 'mpga', 'oga', 'ogg', 'wav', 'webm']";
const notAudio = `Invalid file format. Supported formats: ${FORMATS}`;
const undecodable = 'The audio file could not be decoded or its format is not supported.';
const text = (name: string) => new File(['This is no recording, whatever it is called. '.repeat(50)], name);

interface Refusal {
  readonly parts: () => Parts | Promise<Parts>;
  readonly status?: number;
  readonly code: string | null;
  readonly param: string | null;
  readonly message: string | RegExp;
}

const withPart = (name: string, value: string) => () => [...valid, [name, value] as const];

const REFUSED: Readonly<Record<string, Refusal>> = {
  'no file': {
    parts: () => [['model', 'whisper-1']],
    code: 'missing_required_parameter',
    param: 'file',
    message: "Missing required parameter: 'file'.",
  },
  'a file that is a text part': {
    parts: () => [
      ['model', 'whisper-1'],
      ['file', 'RIFF'],
    ],
    code: 'missing_required_parameter',
    param: 'file',
    message: "Missing required parameter: 'file'.",
  },
  'no model': {
    parts: () => [['file', file]],
    code: 'missing_required_parameter',
    param: 'model',
    message: "Missing required parameter: 'model'.",
  },
  'an empty model': {
    parts: () => [
      ['file', file],
      ['model', ''],
    ],
    code: 'missing_required_parameter',
    param: 'model',
    message: "Missing required parameter: 'model'.",
  },
  'an unknown model': {
    parts: () => [
      ['file', file],
      ['model', 'whisper-9'],
    ],
    status: 404,
    code: 'model_not_found',
    param: 'model',
    message: "The model 'whisper-9' does not exist or you do not have access to it.",
  },
  'a model of another kind': {
    parts: () => [
      ['file', file],
      ['model', 'tts-1'],
    ],
    code: 'unsupported_model',
    param: 'model',
    message: /is a speech model/,
  },
  'two models': {
    parts: withPart('model', 'gpt-transcribe'),
    code: 'invalid_type',
    param: 'model',
    message: /expected a string, but got an array/,
  },
  'two files': {
    parts: () => [...valid, ['file', file]],
    code: 'invalid_value',
    param: 'file',
    message: /more than one file/,
  },
  'a file under another name': {
    parts: () => [
      ['model', 'whisper-1'],
      ['audio', file],
    ],
    code: 'unknown_parameter',
    param: 'audio',
    message: /^Unknown parameter: 'audio'/,
  },
  'an empty file': {
    parts: () => [
      ['file', new File([], 'audio.mp3')],
      ['model', 'whisper-1'],
    ],
    code: 'invalid_value',
    param: 'file',
    message: /empty/,
  },
  'text under the name of a recording': {
    parts: () => [
      ['file', text('audio.mp3')],
      ['model', 'whisper-1'],
    ],
    code: 'unsupported_format',
    param: 'file',
    message: notAudio,
  },
  'a recording under the name of a text': {
    parts: async () => [
      ['file', await audioFile('tone.wav', 'notes.txt')],
      ['model', 'whisper-1'],
    ],
    code: 'unsupported_format',
    param: 'file',
    message: notAudio,
  },
  'a recording of another format under an accepted name': {
    parts: async () => [
      ['file', await audioFile('tone.aac', 'tone.mp3')],
      ['model', 'whisper-1'],
    ],
    code: 'unsupported_format',
    param: 'file',
    message: notAudio,
  },
  'a film without sound': {
    parts: async () => [
      ['file', await audioFile('silent-film.mp4')],
      ['model', 'whisper-1'],
    ],
    code: 'invalid_value',
    param: 'file',
    message: undecodable,
  },
  'less than a tenth of a second': {
    parts: () => [
      ['file', silence(0.09)],
      ['model', 'whisper-1'],
    ],
    code: 'audio_too_short',
    param: 'file',
    message: 'Audio file is too short. Minimum audio length is 0.1 seconds.',
  },
  'a language that is a word': {
    parts: withPart('language', 'english'),
    code: 'invalid_language_format',
    param: 'language',
    message: /^Invalid language 'english'\. Language parameter must be specified in ISO-639-1 format/,
  },
  'a two-letter language that does not exist': {
    parts: withPart('language', 'xx'),
    code: 'invalid_language_format',
    param: 'language',
    message: /'xx'/,
  },
  'a wrong language among several': {
    parts: () => [...valid, ['languages[]', 'de'], ['languages[]', 'deutsch']],
    code: 'invalid_language_format',
    param: 'languages[1]',
    message: /'deutsch'/,
  },
  'temperature 1.1': {
    parts: withPart('temperature', '1.1'),
    code: 'decimal_above_max_value',
    param: 'temperature',
    message: /Expected a value <= 1, but got 1\.1/,
  },
  'temperature -0.1': {
    parts: withPart('temperature', '-0.1'),
    code: 'decimal_below_min_value',
    param: 'temperature',
    message: /Expected a value >= 0, but got -0\.1/,
  },
  'a temperature in words': {
    parts: withPart('temperature', 'warm'),
    code: 'invalid_type',
    param: 'temperature',
    message: /expected a decimal, but got a string/,
  },
  'an unknown format': {
    parts: withPart('response_format', 'xml'),
    code: 'invalid_value',
    param: 'response_format',
    message:
      "Invalid value: 'xml'. Supported values are: 'json', 'text', 'srt', 'verbose_json', 'vtt', and 'diarized_json'.",
  },
  'granularities without verbose_json': {
    parts: withPart('timestamp_granularities[]', 'word'),
    code: 'invalid_value',
    param: 'timestamp_granularities',
    message: /only taken with response_format 'verbose_json'/,
  },
  'an unknown granularity': {
    parts: () => [...valid, ['response_format', 'verbose_json'], ['timestamp_granularities[]', 'letter']],
    code: 'invalid_value',
    param: 'timestamp_granularities[0]',
    message: /'word' and 'segment'/,
  },
  'a stream that is neither true nor false': {
    parts: withPart('stream', 'yes'),
    code: 'invalid_type',
    param: 'stream',
    message: /expected a boolean/,
  },
  'an unknown chunking strategy': {
    parts: withPart('chunking_strategy', '{"type":"client_vad"}'),
    code: 'invalid_value',
    param: 'chunking_strategy.type',
    message: /server_vad/,
  },
  'five known speakers': {
    parts: () => [...valid, ...['a', 'b', 'c', 'd', 'e'].map((n) => ['known_speaker_names[]', n] as const)],
    code: 'array_above_max_length',
    param: 'known_speaker_names',
    message: /maximum length 4, but got an array with length 5/,
  },
  'more text parts than are read': {
    parts: () => [...valid, ...Array.from({ length: 64 }, (_, n) => [`part_${n}`, 'x'] as const)],
    status: 413,
    code: 'request_too_large',
    param: null,
    message: /64 text parts/,
  },
  'a text part that is too long': {
    parts: withPart('prompt', 'x'.repeat(1_500_001)),
    status: 413,
    code: 'request_too_large',
    param: null,
    message: /too large/,
  },
  'text parts that are too long together': {
    parts: () => [
      ...Array.from({ length: 4 }, (_, n) => [`p${n}`, 'x'.repeat(1_400_000)] as const),
      ...valid,
    ],
    status: 413,
    code: 'request_too_large',
    param: null,
    message: /too large/,
  },
};

test.for(Object.entries(REFUSED))('%s is refused and leaves no file', async ([, refusal]) => {
  const answer = await post(await refusal.parts());
  const { error } = ErrorBody.parse(await answer.json());
  expect(answer.status).toBe(refusal.status ?? 400);
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.headers.get('x-should-retry')).toBe('false');
  expect(error).toMatchObject({
    type: 'invalid_request_error',
    code: refusal.code,
    param: refusal.param,
    message: typeof refusal.message === 'string' ? refusal.message : expect.stringMatching(refusal.message),
  });
  expect(audio.simulator.requests.length).toBe(0);
  await audio.nothingLeft();
});

const PASSING: Readonly<Record<string, Parts>> = {
  'a model after its file': valid,
  'empty optional parts': [
    ...valid,
    ['language', ''],
    ['prompt', ''],
    ['response_format', ''],
    ['temperature', ''],
    ['stream', ''],
    ['timestamp_granularities[]', ''],
    ['chunking_strategy', ''],
  ],
  'ISO 639-1': [...valid, ['language', 'de']],
  'ISO 639-3': [...valid, ['language', 'yue']],
  'BCP 47': [...valid, ['language', 'pt-BR']],
  'temperature 0': [...valid, ['temperature', '0']],
  'temperature 1': [...valid, ['temperature', '1.0']],
  'granularities without brackets': [
    ...valid,
    ['response_format', 'verbose_json'],
    ['timestamp_granularities', 'word'],
  ],
  'a chunking strategy in JSON': [...valid, ['chunking_strategy', '{"type":"server_vad","threshold":0.5}']],
  'a chunking strategy in brackets': [
    ...valid,
    ['chunking_strategy[type]', 'server_vad'],
    ['chunking_strategy[threshold]', '0.5'],
  ],
  'a chunking strategy in a word': [...valid, ['chunking_strategy', 'auto']],
  'a tenth of a second': [
    ['file', silence(0.1)],
    ['model', 'whisper-1'],
  ],
};

test.for(Object.entries(PASSING))('%s passes', async ([, parts]) => {
  const answer = await post(parts);
  expect(await answer.json()).toMatchObject({ text: expect.any(String) });
  expect(answer.status).toBe(200);
});

test('a model outside of the key looks as if it did not exist', async () => {
  const answer = await post(valid, audio.headersFor({ models: ['gpt-*'] }));
  expect(answer.status).toBe(404);
  expect(await answer.json()).toMatchObject({ error: { code: 'model_not_found' } });
  await audio.nothingLeft();
});

test.for([
  ['JSON', 'application/json', 'unsupported_content_type'],
  ['a form of another kind', 'application/x-www-form-urlencoded', 'unsupported_content_type'],
  ['a multipart body without boundary', 'multipart/form-data', null],
  ['a multipart body that ends too early', 'multipart/form-data; boundary=x', null],
] as const)('%s is refused', async ([, type, code]) => {
  const answer = await fetch(url(), {
    method: 'POST',
    body: '--x\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF',
    headers: { ...audio.headersFor(), 'content-type': type },
  });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ error: { type: 'invalid_request_error', code } });
  await audio.nothingLeft();
});

test('a compressed body is refused', async () => {
  const answer = await post(valid, { 'content-encoding': 'gzip' });
  expect(answer.status).toBe(415);
});

test.for(['file', 'another'])(
  'an upload without end, as %s, is refused while it still comes',
  async (name) => {
    const request = httpRequest(url(), {
      method: 'POST',
      headers: { ...audio.headersFor(), 'content-type': 'multipart/form-data; boundary=x' },
    });
    request.on('error', () => undefined);
    const answered = once(request, 'response');
    const pour = () => {
      while (!request.destroyed && request.write(Buffer.alloc(1_000_000)));
    };
    request.on('drain', pour);
    request.write(`--x\r\ncontent-disposition: form-data; name="${name}"; filename="a.wav"\r\n\r\nRIFF`);
    pour();
    const [answer]: IncomingMessage[] = await answered;
    expect(answer?.statusCode).toBe(413);
    request.destroy();
    await audio.nothingLeft();
  },
);

test('a caller who leaves in the middle of an upload leaves no file', async () => {
  const request = httpRequest(url(), {
    method: 'POST',
    headers: { ...audio.headersFor(), 'content-type': 'multipart/form-data; boundary=x' },
  });
  request.on('error', () => undefined);
  request.write('--x\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF');
  request.write(Buffer.alloc(500_000));
  await waitFor(async () => (await audio.uploaded()).length === 1, { what: 'the upload' });
  request.destroy();
  await audio.nothingLeft();
  expect(await audio.lastLine()).toMatchObject({ left: true });
  expect(audio.jobs).toEqual([]);
});

test('a full queue refuses before anything is stored', async () => {
  const full = await startAudio({ maxWaiting: 1 });
  try {
    const first = fetch(`${full.url}/v1/audio/transcriptions`, {
      method: 'POST',
      body: await asForm(valid),
      headers: full.headersFor(),
    });
    await waitFor(async () => (await full.uploaded()).length === 1);
    await waitFor(async () => {
      const answer = await fetch(`${full.url}/v1/audio/transcriptions`, {
        method: 'POST',
        body: asForm([
          ['model', 'whisper-1'],
          ['file', text('not-even-audio.txt')],
        ]),
        headers: full.headersFor(),
      });
      if (answer.status !== 429) return false;
      expect(answer.headers.get('retry-after')).toBe('5');
      expect(await answer.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
      return true;
    });
    expect(await full.uploaded()).toHaveLength(1);
    await full.startWorker();
    expect((await first).status).toBe(200);
    await full.nothingLeft();
  } finally {
    await full.close();
  }
});

function asForm(parts: Parts): FormData {
  const form = new FormData();
  for (const [name, value] of parts) form.append(name, value);
  return form;
}

test('while Redis is away callers get a 503 with Retry-After at once', async () => {
  const away = await startAudio();
  try {
    await away.redis.stop();
    const answer = await fetch(`${away.url}/v1/audio/transcriptions`, {
      method: 'POST',
      body: asForm(valid),
      headers: away.headersFor(),
    });
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).not.toBeNull();
    expect(await answer.json()).toMatchObject({ error: { code: 'service_unavailable' } });
    expect(await away.uploaded()).toEqual([]);
  } finally {
    await away.close();
  }
});
