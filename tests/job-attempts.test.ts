import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { wavFile } from './support/media-files.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** What a job called is shown as for requests without a queue: to whoever gets its result or its failure, and in the worker's log. */

const configuration = (origin: string): string => `
channels:
  first: { provider: simulator, baseUrl: "${origin}", apiKey: k, cooldown: off }
  second: { provider: simulator, baseUrl: "${origin}", apiKeys: { spare: k2 }, cooldown: off }
models:
  dall-e-3: { kind: image, routes: [{ channel: first }, { channel: second, priority: 1 }] }
  whisper-1: { kind: transcription, routes: [{ channel: first }, { channel: second, priority: 1 }] }
  gpt-4o-mini-tts: { kind: speech, routes: [{ channel: first }, { channel: second, priority: 1 }] }
`;

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ configuration });
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

const image = { model: 'dall-e-3', prompt: 'A lighthouse' };
function transcription(stream = false): FormData {
  const form = new FormData();
  form.set('model', 'whisper-1');
  form.set('file', wavFile(1));
  if (stream) form.set('stream', 'true');
  return form;
}
const speech = { model: 'gpt-4o-mini-tts', voice: 'alloy', input: 'Hello.' };

const REQUESTS = {
  image: { path: '/v1/images/generations', init: () => ({ json: image }) },
  transcription: { path: '/v1/audio/transcriptions', init: () => ({ body: transcription() }) },
  'streamed transcription': { path: '/v1/audio/transcriptions', init: () => ({ body: transcription(true) }) },
  speech: { path: '/v1/audio/speech', init: () => ({ json: speech, headers: { prefer: 'respond-async' } }) },
} as const;

const shown = (reply: Response) => reply.headers.get('x-gateway-attempts')?.replaceAll(/;ms=\d+/g, '');
const jobOf = (reply: Response) => reply.headers.get('x-gateway-job') ?? '';

/** The worker's line of a job. */
const lineOf = (jobId: string) =>
  waitFor(() => {
    const found = gateway.lines.find(
      ({ process, text }) => process.endsWith('-worker') && text.includes(jobId),
    );
    return found && JSON.parse(found.text);
  });

const withoutTimes = (list: unknown) => String(list).replaceAll(/;ms=\d+/g, '');

const SECOND = '"first";outcome=rate-limited;status=429, "second";account="spare";outcome=ok;status=200';

test.for(Object.entries(REQUESTS))(
  '%s: the channel that failed, and the one that did it',
  async ([, { path, init }]) => {
    gateway.simulator.script(path, { status: 429 });
    const reply = await gateway.fetch(path, init());
    await reply.text();
    expect(reply.ok).toBe(true);
    const line = await lineOf(jobOf(reply));
    expect(line).toMatchObject({ channel: 'second', account: 'spare', upstreamAttempts: 2 });
    expect(withoutTimes(line.attemptList)).toBe(SECOND);
    if (reply.status === 200) expect(shown(reply)).toBe(SECOND);
    const area = path.split('/')[2];
    const result = await gateway.fetch(`/v1/${area}/jobs/${jobOf(reply)}/result`);
    expect([result.status, shown(result)]).toEqual([200, SECOND]);
  },
);

test('a job that failed names all that were called, to its caller and in the log', async () => {
  const path = '/v1/images/generations';
  gateway.simulator.script(path, { status: 429 });
  gateway.simulator.script(path, { status: 400 });
  const reply = await gateway.fetch(path, { json: image });
  const both =
    '"first";outcome=rate-limited;status=429, "second";account="spare";outcome=rejected;status=400';
  expect([reply.ok, shown(reply)]).toEqual([false, both]);
  expect(withoutTimes((await lineOf(jobOf(reply))).attemptList)).toBe(both);
});
