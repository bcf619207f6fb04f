import { waitFor } from '@gateway/testkit/wait-for';
import { Agent, FormData, fetch, type RequestInit } from 'undici';
import { wavFile } from './media-files.ts';

/** Whom the load calls. */
export interface LoadTarget {
  readonly url: string;
  readonly key: string;
  /** Needed by the caller `admin`. */
  readonly admin?: { readonly url: string; readonly token: string };
}

/** One request: sends it, and returns what came if that is not a whole reply. */
type Ask = (send: Send, target: LoadTarget) => Promise<string | undefined>;
type Send = (url: string, init: RequestInit) => Promise<{ readonly status: number; readonly text: string }>;

const isServed = { status: 200 };

/** Asks for text, media or a job over the edge; `whole` is in every reply that is complete. */
const ask =
  (path: string, body: () => string | FormData, whole: string): Ask =>
  async (send, { url, key }) => {
    const content = body();
    const { status, text } = await send(`${url}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        ...(typeof content === 'string' && { 'content-type': 'application/json' }),
      },
      body: content,
    });
    return status === isServed.status && text.includes(whole) ? undefined : `${status} ${text.slice(0, 500)}`;
  };
const json = (value: object) => () => JSON.stringify(value);

const recording = wavFile(1);
function transcriptionForm(): FormData {
  const form = new FormData();
  form.set('model', 'whisper-1');
  form.set('prompt', '[[simulate slow-first-byte=100]]');
  form.set('file', recording, recording.name);
  return form;
}

/** A key is made, and revoked. */
const administer: Ask = async (send, { admin }) => {
  if (admin === undefined) return 'no address of admin';
  const headers = { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' };
  const keys = `${admin.url}/admin/v1/keys`;
  const made = await send(keys, { method: 'POST', headers, body: JSON.stringify({ name: 'load' }) });
  const id = /"id":"(key_\w+)"/.exec(made.text)?.[1];
  if (id === undefined) return `${made.status} ${made.text}`;
  const revoked = await send(`${keys}/${id}`, { method: 'DELETE', headers });
  return revoked.status === isServed.status ? undefined : `${revoked.status} ${revoked.text}`;
};

const TEXT = { model: 'gpt-5.2', input: 'hello', store: false };
const SLOW_TEXT = 'hello [[simulate pace=30]]';

/** What each caller of the load asks, one request after the other. */
const CALLERS = {
  json: ask('/v1/responses', json(TEXT), '"status":"completed"'),
  stream: ask(
    '/v1/responses',
    json({ ...TEXT, input: SLOW_TEXT, stream: true }),
    'event: response.completed',
  ),
  job: ask('/v1/images/generations', json({ model: 'dall-e-3', prompt: 'a house' }), '"url"'),
  speech: ask(
    '/v1/audio/speech',
    json({ model: 'gpt-4o-mini-tts', voice: 'alloy', input: SLOW_TEXT, stream_format: 'sse' }),
    'speech.audio.done',
  ),
  transcription: ask('/v1/audio/transcriptions', transcriptionForm, '"text"'),
  background: ask(
    '/v1/responses',
    json({ model: 'background', input: SLOW_TEXT, background: true, stream: true }),
    'event: response.completed',
  ),
  admin: administer,
} satisfies Record<string, Ask>;
export type Caller = keyof typeof CALLERS;

export interface SteadyLoad {
  /** Everything but whole replies, in words. */
  readonly failures: readonly string[];
  /** Resolves when each caller has got so many more whole replies, or one has failed. */
  goesOn(count: number): Promise<void>;
  stop(): Promise<void>;
}

/** Callers that ask without a pause, each over connections of its own that it keeps, and repeat nothing by themselves. */
export function startLoad(
  target: LoadTarget,
  callers: readonly Caller[] = ['json', 'json', 'stream', 'stream', 'job'],
): SteadyLoad {
  const served = new Map<Caller, number>(callers.map((caller) => [caller, 0]));
  const failures: string[] = [];
  let over = false;
  const askOnce = async (caller: Caller, send: Send) => {
    try {
      const wrong = await CALLERS[caller](send, target);
      if (wrong === undefined) served.set(caller, (served.get(caller) ?? 0) + 1);
      else failures.push(`${caller}: ${wrong}`);
    } catch (error) {
      failures.push(`${caller}: ${error instanceof Error ? `${error.message}: ${error.cause}` : error}`);
    }
  };
  const run = async (caller: Caller) => {
    const dispatcher = new Agent();
    const send: Send = async (url, init) => {
      const response = await fetch(url, { ...init, dispatcher });
      return { status: response.status, text: await response.text() };
    };
    while (!over) await askOnce(caller, send);
    await dispatcher.close();
  };
  const running = Promise.all(callers.map(run));
  return {
    failures,
    goesOn: async (count) => {
      const before = new Map(served);
      const hasGrown = (caller: Caller) => (served.get(caller) ?? 0) - (before.get(caller) ?? 0) >= count;
      await waitFor(() => failures.length > 0 || callers.every(hasGrown), {
        what: 'further replies',
        timeoutMs: 90_000,
      });
    },
    stop: async () => {
      over = true;
      await running;
    },
  };
}
