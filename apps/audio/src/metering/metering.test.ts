import { type Account, Account as AccountSchema } from '@gateway/contracts/identity';
import { readSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { silence } from '../testing/audio-files.ts';
import { startAudio, type TestAudio } from '../testing/start-audio.ts';

let audio: TestAudio;
let keyId: string;
let keys = 0;
beforeAll(async () => {
  audio = await startAudio();
  await audio.startWorker();
});
beforeEach(() => {
  audio.reset();
  keys += 1;
  keyId = `key_metered_${keys}`;
});
afterAll(() => audio.close());

const SPEECH = '/v1/audio/speech';
const TRANSCRIPTIONS = '/v1/audio/transcriptions';
const account = (members: Partial<Account>): Account =>
  AccountSchema.parse({ owner: keyId, limits: {}, budget: null, ...members });
const budget = (microUsd: number) => account({ budget: { microUsd, period: 'total', allowUnpriced: false } });
const identity = (accounts: readonly Account[]) => audio.headersFor({ keyId, accounts: [...accounts] });

const speak = (members: object = {}, accounts: readonly Account[] = [], init: RequestInit = {}) =>
  fetch(audio.url + SPEECH, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...identity(accounts) },
    body: JSON.stringify({ model: 'tts-1', voice: 'alloy', input: 'Grüße 👋', ...members }),
    ...init,
  });

function transcribe(
  seconds: number,
  parts: Record<string, string> = {},
  accounts: readonly Account[] = [],
  init: RequestInit = {},
) {
  const body = new FormData();
  for (const [name, value] of Object.entries({ model: 'whisper-1', ...parts })) body.append(name, value);
  body.append('file', silence(seconds));
  return fetch(audio.url + TRANSCRIPTIONS, { method: 'POST', body, headers: identity(accounts), ...init });
}

test('speech is charged by the characters of its input, on its record and on its line', async () => {
  await (await speak()).arrayBuffer();
  // Seven characters at 15 $ a million.
  expect(await audio.accounted(keyId, 1)).toMatchObject([
    {
      endpoint: 'speech',
      model: 'tts-1',
      channel: 'one',
      outcome: 'ok',
      estimated: false,
      consumption: { characters: 7 },
      costMicroUsd: 105,
    },
  ]);
  expect(await audio.lastLine()).toMatchObject({ characters: 7, costMicroUsd: 105 });
});

test('a budget refuses speech before the upstream is called, and covers what just fits', async () => {
  expect((await speak({}, [budget(104)])).status).toBe(429);
  expect(audio.simulator.requests).toHaveLength(0);
  const reply = await speak({}, [budget(105)]);
  expect(reply.headers.get('x-gateway-budget')).toBe('used=100%');
  await reply.arrayBuffer();
  await audio.accounted(keyId, 1);
  expect((await speak({}, [budget(105)])).status).toBe(429);
});

test('speech without a price is refused to a key whose budget must be kept', async () => {
  const reply = await speak({ model: 'kokoro' }, [budget(1_000_000)]);
  expect(reply.status).toBe(403);
  expect(await reply.json()).toMatchObject({ error: { code: 'unpriced_model', param: 'model' } });
  expect(audio.simulator.requests).toHaveLength(0);
});

test('tokens of the last event replace those that were estimated', async () => {
  const sse =
    'data: {"type":"speech.audio.delta","audio":"AAAA"}\n\n' +
    'data: {"type":"speech.audio.done","usage":{"input_tokens":3,"output_tokens":50,"total_tokens":53}}\n\n';
  audio.simulator.script(SPEECH, { sse });
  await (await speak({ model: 'gpt-4o-mini-tts', stream_format: 'sse' })).text();
  await (await speak({ model: 'gpt-4o-mini-tts' })).arrayBuffer();
  expect(await audio.accounted(keyId, 2)).toMatchObject([
    { consumption: { inputTokens: 3, outputTokens: 50 }, estimated: false, costMicroUsd: 84 + 600 },
    { consumption: { characters: 7 }, estimated: true },
  ]);
});

test('tokens in the names of chat, in an event with its type by its name alone, are those of speech', async () => {
  const sse =
    'event: speech.audio.delta\ndata: {"audio":"AAAA"}\n\n' +
    'event: speech.audio.done\ndata: {"usage":{"prompt_tokens":3,"completion_tokens":50}}\n\n';
  audio.simulator.script(SPEECH, { sse });
  const events = await (await speak({ model: 'gpt-4o-mini-tts', stream_format: 'sse' })).text();
  expect(events).toContain('data: {"type":"speech.audio.delta","audio":"AAAA"}');
  audio.simulator.script(SPEECH, { sse });
  const sound = await (await speak({ model: 'gpt-4o-mini-tts' })).arrayBuffer();
  expect(sound.byteLength).toBe(3);
  const told = { consumption: { inputTokens: 3, outputTokens: 50 }, estimated: false };
  expect(await audio.accounted(keyId, 2)).toMatchObject([told, told]);
});

test.for([
  ['content-policy', 'failed', 0, false],
  ['overloaded', 'failed', 0, false],
  ['close-before-response', 'failed', 1, true],
] as const)(
  'speech that fails (%s) costs nothing unless it may have been made',
  async ([fault, outcome, times, estimated]) => {
    const input = `[[simulate ${fault}]]`;
    await speak({ input });
    expect(await audio.accounted(keyId, 1)).toMatchObject([
      { outcome, estimated, channel: 'one', attempts: 1, costMicroUsd: times * input.length * 15 },
    ]);
  },
);

test('speech that breaks off, or whose caller leaves, is charged once', async () => {
  audio.simulator.script(SPEECH, { cutAfter: 1 });
  await (await speak({ input: 'x'.repeat(500) })).arrayBuffer().catch(() => undefined);
  expect(await audio.accounted(keyId, 1)).toMatchObject([{ outcome: 'cut', costMicroUsd: 7500 }]);

  audio.simulator.script(SPEECH, { stallAfter: 1 });
  const caller = new AbortController();
  const reply = await speak({ input: 'x'.repeat(500) }, [], { signal: caller.signal });
  await reply.body?.getReader().read();
  caller.abort();
  const [, left] = await audio.accounted(keyId, 2);
  expect(left).toMatchObject({ outcome: 'left', costMicroUsd: 7500 });
});

test('a caller who leaves before the first byte is charged as estimated, since it may be made', async () => {
  const never = Promise.withResolvers<void>();
  audio.simulator.script(SPEECH, { gate: never.promise });
  const caller = new AbortController();
  const replying = speak({}, [], { signal: caller.signal }).catch(() => undefined);
  await audio.simulator.nextRequest();
  caller.abort();
  await replying;
  expect(await audio.accounted(keyId, 1)).toMatchObject([
    { outcome: 'left', estimated: true, costMicroUsd: 105 },
  ]);
  never.resolve();
});

const TOKENS = { input_tokens: 3, output_tokens: 50, total_tokens: 53 };
const REFUSAL = { error: { message: 'No.', type: 'server_error' } };
test.for([
  ['an error that reports nothing', { json: REFUSAL }, 0, 0, 0],
  ['an error with its usage', { json: { ...REFUSAL, usage: TOKENS } }, 7, 3, 50],
  [
    'an event of an error with its usage',
    { sse: `event: error\ndata: ${JSON.stringify({ type: 'error', ...REFUSAL, usage: TOKENS })}\n\n` },
    7,
    3,
    50,
  ],
  ['an error after the input was read', { json: { ...REFUSAL, usage: { input_tokens: 3 } } }, 0, 3, 0],
] as const)(
  'what a reply without speech reports is charged beside the speech of another: %s',
  async ([, script, characters, inputTokens, outputTokens]) => {
    const base = keyId;
    for (const headers of [{}, { prefer: 'respond-async' }]) {
      keyId = `${base}_${Object.keys(headers).length}`;
      audio.simulator.script(SPEECH, script);
      const model = 'gpt-4o-mini-tts';
      const init = { headers: { 'content-type': 'application/json', ...identity([]), ...headers } };
      await (await speak({ model }, [], init)).arrayBuffer();
      // Of the answer the tokens are estimated; a character and an output token cost 12 $ a million.
      expect(await audio.accounted(keyId, 1)).toMatchObject([
        {
          outcome: 'ok',
          attempts: 2,
          consumption: {
            characters: 7 + characters,
            inputTokens: 12 + inputTokens,
            outputTokens: 18 + outputTokens,
          },
          costMicroUsd: (7 + 18 + characters + outputTokens) * 12,
        },
      ]);
    }
  },
);

test('what a reply without speech reports is charged also where no other one follows', async () => {
  audio.simulator.script(SPEECH, { json: { ...REFUSAL, usage: TOKENS } });
  await speak();
  expect(await audio.accounted(keyId, 1)).toMatchObject([
    { outcome: 'failed', attempts: 1, consumption: { characters: 7, outputTokens: 50 }, costMicroUsd: 105 },
  ]);
});

test('a transcript is charged by started seconds, under its job', async () => {
  const reply = await transcribe(2.2);
  expect(await audio.accounted(keyId, 1)).toMatchObject([
    {
      id: reply.headers.get('x-gateway-job'),
      endpoint: 'transcriptions',
      outcome: 'ok',
      estimated: false,
      consumption: { audioMs: 3000 },
      costMicroUsd: 300,
    },
  ]);
  await waitFor(() => audio.jobs.length === 1);
  expect(audio.jobs[0]?.usage?.costMicroUsd).toBe(300);
  expect(await audio.lastLine()).toMatchObject({ costMicroUsd: 300 });
});

test.for([
  [
    'seconds of audio per minute',
    () => account({ limits: { audioSecondsPerMinute: 5 } }),
    /seconds of audio per minute: Limit 5, Used 0, Requested 6/,
  ],
  ['a budget', () => budget(599), /does not cover/],
] as const)(
  '%s refuse a transcription before it is queued, and its file is gone',
  async ([, limiting, message]) => {
    const reply = await transcribe(5.5, {}, [limiting()]);
    expect(reply.status).toBe(429);
    expect(await reply.json()).toMatchObject({ error: { message: expect.stringMatching(message) } });
    await audio.nothingLeft();
    expect(audio.jobs).toHaveLength(0);
    expect(audio.simulator.requests).toHaveLength(0);
  },
);

const [BEGUN, USED] = [
  { json: { text: 'Hello there.' }, cutAfter: 1 },
  { usage: { type: 'duration', seconds: 20 } },
];
const FAILED = { error: { message: 'No.', type: 'server_error' } };
test.for([
  ['is cut, by its recording', BEGUN, 12],
  ['is an error that reports nothing, not at all', { json: FAILED }, 0],
  ['is an error, by what it reports', { json: { ...FAILED, ...USED } }, 20],
] as const)(
  'a reply that is no transcript is charged beside the one that is: one that %s',
  async ([, script, seconds]) => {
    audio.simulator.script(script);
    expect((await transcribe(11.4)).status).toBe(200);
    expect(audio.simulator.requests).toHaveLength(2);
    const [answered] = await audio.accounted(keyId, 1);
    expect(answered).toMatchObject({ outcome: 'ok', consumption: { audioMs: (seconds + 12) * 1000 } });
    expect(answered?.costMicroUsd).toBe((seconds + 12) * 100);
  },
);

test('a transcription that is tried again is charged with what each channel had begun to answer before', async () => {
  for (const script of [BEGUN, { json: { ...FAILED, ...USED } }]) audio.simulator.script(script);
  expect((await transcribe(11.4)).status).toBe(200);
  expect(await audio.accounted(keyId, 1)).toMatchObject([
    { outcome: 'ok', attempts: 3, consumption: { audioMs: (12 + 20 + 12) * 1000 }, costMicroUsd: 4400 },
  ]);
});

test('seconds of audio that were not used are free again at once', async () => {
  const limited = [account({ limits: { audioSecondsPerMinute: 6 } })];
  await transcribe(6, { prompt: '[[simulate content-policy]]' }, limited);
  expect(await audio.accounted(keyId, 1)).toMatchObject([{ outcome: 'failed', costMicroUsd: 0 }]);
  expect((await transcribe(6, {}, limited)).status).toBe(200);
  expect((await transcribe(6, {}, limited)).status).toBe(429);
});

test('a transcription that is cancelled while it runs is charged once, as estimated', async () => {
  const never = Promise.withResolvers<void>();
  audio.simulator.script(TRANSCRIPTIONS, { gate: never.promise });
  const caller = new AbortController();
  const replying = transcribe(2, {}, [], { signal: caller.signal }).catch(() => undefined);
  await audio.simulator.nextRequest();
  caller.abort();
  await replying;
  expect(await audio.accounted(keyId, 1)).toMatchObject([
    { outcome: 'cancelled', estimated: true, costMicroUsd: 200 },
  ]);
  never.resolve();
});

test('after a mixed run the usage records equal what the provider counted', async () => {
  const done = await Promise.all([
    ...['a', 'bb', 'ccc', '👋'].map((input) => speak({ input }).then((reply) => reply.arrayBuffer())),
    speak({ model: 'gpt-4o-mini-tts', stream_format: 'sse' }).then((reply) => reply.text()),
    ...[0.5, 1, 2.5].map((seconds) => transcribe(seconds)),
    ...[1.5, 3].map((seconds) => transcribe(seconds, { model: 'gpt-4o-transcribe', prompt: 'short' })),
    transcribe(4, { model: 'gpt-4o-transcribe', stream: 'true' }).then(async (reply) => {
      for await (const _ of readSse(reply));
    }),
    transcribe(2, { prompt: '[[simulate overloaded times=1]]' }),
    speak({ input: '[[simulate status=500]]' }),
    transcribe(2, { prompt: '[[simulate content-policy]]' }),
  ]);
  const records = await audio.accounted(keyId, done.length);
  expect(records).toHaveLength(done.length);
  expect(new Set(records.map(({ id }) => id)).size).toBe(done.length);
  for (const [model, row] of Object.entries(audio.simulator.ledger())) {
    const own = records.filter((record) => record.model === model);
    const sum = (name: 'characters' | 'inputTokens' | 'outputTokens' | 'audioMs') =>
      own.reduce((total, { consumption }) => total + consumption[name], 0);
    const cost = own.reduce((total, { costMicroUsd }) => total + (costMicroUsd ?? 0), 0);
    const expected: Record<string, object> = {
      'tts-1': { characters: row.characters, cost: row.characters * 15 },
      'gpt-4o-mini-tts': {
        characters: row.characters,
        output: row.outputTokens,
        cost: row.characters * 12 + row.outputTokens * 12,
      },
      'whisper-1': { audioMs: row.audioSeconds * 1000, cost: row.audioSeconds * 100 },
      'gpt-4o-transcribe': {
        audioMs: row.audioSeconds * 1000,
        input: row.inputTokens,
        output: row.outputTokens,
      },
    };
    expect({
      characters: sum('characters'),
      audioMs: sum('audioMs'),
      input: sum('inputTokens'),
      output: sum('outputTokens'),
      cost,
    }).toMatchObject(expected[model] ?? { unexpected: model });
  }
});
