import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { expect, test } from 'vitest';
import { error, json, muteOrigin, startProvider } from '../provider-for-tests.ts';
import { type Body, type LibraryChannel, requestOf, send, upstreamOf } from './library-calls-for-tests.ts';
import { replay } from './replay-for-tests.ts';

const SPEECH = { library: 'elevenlabs', protocol: 'speech', model: 'eleven_v3' } as const;
const FLUX = { library: 'black-forest-labs', protocol: 'images', model: 'flux-pro-1.1' } as const;
const speech = { model: 'm', input: 'Good morning.', voice: 'v1' };
const picture = { model: 'm', prompt: 'A lighthouse' };

const OPERATIONS = {
  speech: 'speech',
  images: 'images.generations',
  transcriptions: 'transcriptions',
} as const;

/** The failure of a request to these channels. */
async function failureOf(
  channels: readonly LibraryChannel[],
  body: Body,
  strict = false,
): Promise<GatewayError> {
  const [{ protocol } = SPEECH] = channels;
  return send(upstreamOf(channels), requestOf(OPERATIONS[protocol], body, strict), { protocol }).then(
    () => Promise.reject(new Error('it was answered')),
    (thrown) => thrown,
  );
}

test('sound without a container is given its container', async () => {
  const provider = await replay('elevenlabs-speech-wav');
  const channel = { ...SPEECH, model: 'eleven_multilingual_v2', origin: provider.origin };
  const body = { ...speech, voice: 'JBFqnCBsd6RMkjVDRZzb', response_format: 'wav' };
  const reply = await send(upstreamOf([channel]), requestOf('speech', body), channel);
  const bytes = await reply.bytes(10_000);
  expect(reply.headers['content-type']).toBe('audio/wav');
  expect([bytes.toString('latin1', 0, 4), bytes.readUInt32LE(4), bytes.readUInt32LE(24)]).toEqual([
    'RIFF',
    bytes.length - 8,
    24_000,
  ]);
  expect(bytes.length).toBe(44 + 192);
  expect(provider.complaints).toEqual([]);
});

test('tokens that a provider of speech reports come as the events that have a member for them', async () => {
  const provider = await replay('google-speech');
  const channel = { library: 'google', protocol: 'speech', model: 'gemini-2.5-flash-preview-tts' } as const;
  const body = { ...speech, voice: 'Kore', instructions: 'Cheerfully', response_format: 'pcm' };
  const upstream = upstreamOf([{ ...channel, origin: provider.origin }]);
  const reply = await send(upstream, requestOf('speech', body), channel);
  expect(reply.headers['content-type']).toBe('text/event-stream');
  const text = (await reply.bytes(10_000)).toString();
  expect(text).toContain('"type":"speech.audio.delta"');
  expect(text).toContain('"usage":{"input_tokens":6,"output_tokens":25,"total_tokens":31}');
  expect(provider.complaints).toEqual([]);
});

/** One row per answer of a provider: what the caller gets. */
const ANSWERS: readonly (readonly [
  title: string,
  status: number,
  body: unknown,
  expected: readonly [code: string, message: RegExp, retry: boolean],
])[] = [
  [
    'a wrong key',
    401,
    { detail: { status: 'invalid_api_key', message: 'Invalid API key' } },
    ['upstream_misconfigured', /not set up correctly/, false],
  ],
  [
    'no quota',
    401,
    { detail: { status: 'quota_exceeded', message: 'You have 0 credits remaining' } },
    ['upstream_quota_exhausted', /no quota left/, true],
  ],
  [
    'too many requests',
    429,
    { detail: { status: 'too_many_concurrent_requests', message: 'x' } },
    ['upstream_rate_limited', /try again in 7s/, true],
  ],
  [
    'a mistake of the caller',
    400,
    { detail: { status: 'voice_limit', message: 'Voice v1 is not for you.' } },
    ['upstream_rejected', /^Voice v1 is not for you\.$/, false],
  ],
  [
    'a body that does not fit',
    422,
    { detail: [{ loc: ['body', 'text'], msg: 'too long', type: 'value_error' }] },
    ['upstream_rejected', /^body\.text: too long$/, false],
  ],
  [
    'a voice that does not exist',
    404,
    { detail: { status: 'voice_not_found', message: "A voice with the voice_id 'v1' was not found." } },
    ['object_not_found', /voice_id 'v1' was not found/, false],
  ],
  ['a failure', 500, { detail: 'oops' }, ['upstream_failed', /failed to answer/, true]],
  ['an answer that is no JSON', 503, 'busy', ['upstream_overloaded', /overloaded/, true]],
];

test.for(ANSWERS)(
  '%s is reported as for any provider, after one request',
  async ([, status, body, [code, message, retry]]) => {
    const provider = await startProvider(error(status, body, { 'retry-after': '7' }));
    const failure = await failureOf([{ ...SPEECH, origin: provider.origin }], speech);
    expect(failure).toMatchObject({ code, retry });
    expect(String(failure.message)).toMatch(message);
    expect(provider.requests).toHaveLength(1);
    expect(JSON.stringify(failure)).not.toContain('secret');
  },
);

test('paid work goes to the next channel where the first one certainly did not begin', async () => {
  for (const answer of [error(500, { detail: 'oops' }), error(429, { detail: 'slow' })]) {
    const [first, second] = [await startProvider(answer), await replay('elevenlabs-speech')];
    const channel = { ...SPEECH, model: 'eleven_multilingual_v2' };
    const upstream = upstreamOf([
      { ...channel, origin: first.origin },
      { ...channel, origin: second.origin },
    ]);
    const body = { ...speech, voice: 'JBFqnCBsd6RMkjVDRZzb', speed: 1.1 };
    const reply = await send(upstream, requestOf('speech', body), channel);
    expect(reply.candidate.channel.name).toBe('c1');
    await reply.bytes(10_000);
    expect(first.requests).toHaveLength(1);
  }
});

test('a provider that cannot be reached is passed over', async () => {
  const second = await startProvider(error(400, { detail: 'no' }));
  for (const origin of ['http://127.0.0.1:1', await muteOrigin()]) {
    const settings = 'timeouts: { connectMs: 300 }';
    const failure = await failureOf(
      [
        { ...SPEECH, origin, settings },
        { ...SPEECH, origin: second.origin },
      ],
      speech,
    );
    expect(failure.code).toBe('upstream_rejected');
  }
  const failure = await failureOf([{ ...SPEECH, origin: 'http://127.0.0.1:1' }], speech);
  expect(failure).toMatchObject({ code: 'upstream_unreachable' });
});

test('paid work that may have been done is not done again', async () => {
  const second = await startProvider();
  const other = { ...FLUX, origin: second.origin };
  const task = { id: 'task-1', polling_url: 'https://api.bfl.ai/v1/get_result?id=task-1' };
  const providers = {
    'broken after it was sent': await startProvider((response) => response.destroy()),
    'broken while the task is polled': await startProvider((response, { method }) =>
      method === 'POST' ? json(response, task) : response.destroy(),
    ),
    'failed while the task is polled': await startProvider((response, { method }) =>
      method === 'POST' ? json(response, task) : json(response, { detail: 'oops' }, 500),
    ),
    'an answer without its members': await startProvider((response) => json(response, { ok: true })),
  };
  for (const [title, provider] of Object.entries(providers)) {
    const failure = await failureOf([{ ...FLUX, origin: provider.origin }, other], picture);
    expect([title, failure.code, failure.retry]).toEqual([title, 'outcome_unknown', false]);
    expect(second.requests).toHaveLength(0);
  }
});

test.for([
  ['black-forest-labs-moderated', FLUX, 'moderation_blocked', /Content Moderated/],
  [
    'replicate-failed',
    { library: 'replicate', protocol: 'images', model: 'black-forest-labs/flux-schnell' },
    null,
    /NSFW content detected/,
  ],
] as const)(
  "%s: a provider's no to a task that it had taken is the caller's to read",
  async ([exchange, channel, code, words]) => {
    const provider = await replay(exchange);
    const failure = await failureOf([{ ...channel, origin: provider.origin }], picture);
    expect(failure).toMatchObject({
      code: 'upstream_rejected',
      retry: false,
      options: { relay: { status: 400 } },
    });
    expect(JSON.parse(failure.options.relay?.body ?? '')).toMatchObject({
      error: { code, message: expect.stringMatching(words) },
    });
  },
);

test('a time limit ends the call and every request of it', async () => {
  const provider = await startProvider(() => undefined);
  const failure = await failureOf(
    [{ ...SPEECH, origin: provider.origin, settings: 'timeouts: { totalMs: 300 }' }],
    speech,
  );
  expect(failure.code).toBe('outcome_unknown');
  await provider.left;
});

test('a caller who leaves ends it too', async () => {
  const leaving = new AbortController();
  const provider = await startProvider(() => leaving.abort());
  const upstream = upstreamOf([{ ...SPEECH, origin: provider.origin }]);
  const replying = send(upstream, requestOf('speech', speech), { ...SPEECH, signal: leaving.signal });
  await expect(replying).rejects.toMatchObject({ code: 'client_closed_request' });
  await provider.left;
  await upstream.close();
});

test('a result on a private address is not fetched, and no foreign address gets the key', async () => {
  const inside = await startProvider();
  const sample = `${inside.origin}/secret.png`;
  const provider = await startProvider((response, { method }) =>
    method === 'POST'
      ? json(response, { id: 'task-1', polling_url: 'https://api.bfl.ai/v1/get_result?id=task-1' })
      : json(response, { id: 'task-1', status: 'Ready', result: { sample } }),
  );
  const failure = await failureOf([{ ...FLUX, origin: provider.origin }], picture);
  expect(failure.code).toBe('outcome_unknown');
  expect(inside.connections).toBe(0);
});

test('of several images those that were made are answered with', async () => {
  let polls = 0;
  const inlineData = { mimeType: 'image/png', data: Buffer.from('png').toString('base64') };
  const provider = await startProvider((response) => {
    polls += 1;
    if (polls === 2)
      return json(response, { error: { code: 429, message: 'slow', status: 'RESOURCE_EXHAUSTED' } }, 429);
    const candidates = [{ content: { role: 'model', parts: [{ inlineData }] }, finishReason: 'STOP' }];
    return json(response, { candidates, usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2 } });
  });
  const google = { library: 'google', protocol: 'images', model: 'gemini-2.5-flash-image' } as const;
  const upstream = upstreamOf([{ ...google, origin: provider.origin }]);
  const reply = await send(upstream, requestOf('images.generations', { ...picture, n: 3 }), google);
  const image = { b64_json: inlineData.data };
  expect(JSON.parse((await reply.bytes(10_000)).toString())).toEqual({
    data: [image, image],
    usage: { input_tokens: 2, output_tokens: 4, total_tokens: 6 },
  });
  expect(polls).toBe(3);
});

test('what a provider does not carry is refused before it is called, and the next one is called', async () => {
  const first = await startProvider();
  const second = await startProvider(error(400, { err_code: 'X', err_msg: 'second' }));
  const channel = { ...SPEECH, origin: first.origin };
  const body = { ...speech, response_format: 'aac' };
  expect(await failureOf([channel], body)).toMatchObject({
    code: 'unsupported_value',
    options: { path: ['response_format'] },
  });
  const other = { library: 'deepgram', protocol: 'speech', model: 'aura-2', origin: second.origin } as const;
  expect((await failureOf([channel, other], body)).message).toBe('second');
  expect(await failureOf([channel], { ...speech, instructions: 'x' }, true)).toMatchObject({
    code: 'unsupported_parameter',
    options: { path: ['instructions'] },
  });
  expect(first.requests).toHaveLength(0);
});

test.for([
  ['a voice that leads to another path', SPEECH, { ...speech, voice: '../../v1/user' }, 'voice'],
  ['a voice with a query', SPEECH, { ...speech, voice: { id: 'v1?enable_logging=true' } }, 'voice'],
  ['a voice of dots', SPEECH, { ...speech, voice: '..' }, 'voice'],
  ['a model that leads to another path', { ...FLUX, model: 'flux/../../v1/credits' }, picture, 'model'],
  ['a model with a fragment', { ...FLUX, model: 'flux-pro#x' }, picture, 'model'],
] as const)("%s is refused: the channel's key is for this path only", async ([, channel, body, param]) => {
  const provider = await startProvider();
  const failure = await failureOf([{ ...channel, origin: provider.origin }], body);
  expect(failure).toMatchObject({ code: 'invalid_value', options: { path: [param] } });
  expect(provider.requests).toHaveLength(0);
});

test('a library that will not send a request reports the reason', async () => {
  const provider = await startProvider();
  const imagen = {
    library: 'google',
    protocol: 'images',
    model: 'imagen-4',
    origin: provider.origin,
  } as const;
  const failure = await failureOf([imagen], picture);
  expect(failure.code).toBe('upstream_rejected');
  expect(failure.message).toMatch(/no longer supported/);
  expect(provider.requests).toHaveLength(0);
});

test('no library is loaded before a channel needs it', async () => {
  const script = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ resolve: (name, context, next) => {
      if (name.startsWith('@ai-sdk/')) loaded.push(name);
      return next(name, context);
    } });
    await import(${JSON.stringify(new URL('../open-upstream.ts', import.meta.url).href)});
    console.log(JSON.stringify(loaded));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  expect(JSON.parse(stdout)).toEqual([]);
});
