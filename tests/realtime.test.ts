import { waitFor } from '@gateway/testkit/wait-for';
import OpenAI from 'openai';
import { OpenAIRealtimeWebSocket } from 'openai/realtime/websocket';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createKey, revokeKey } from './support/admin-keys.ts';
import {
  CREATE,
  callRealtime,
  costOf,
  REALTIME,
  SILENCE,
  SOUND,
  speak,
  startTlsFront,
  usageOf,
} from './support/realtime.ts';
import { type Gateway, type GatewayOptions, startGateway } from './support/start-gateway.ts';

/** Realtime sessions: what callers may rely on, with OpenAI's own clients. How sessions end is in realtime-ends.test.ts. */

const env = { EDGE_CORS_ORIGINS: 'https://app.example' };
const WAYS: Readonly<Record<string, GatewayOptions>> = {
  'one process': { configuration: REALTIME, env },
  'a process each': { configuration: REALTIME, env, mode: 'each', services: ['edge', 'audio', 'text'] },
};

describe.for(Object.keys(WAYS))('%s', (way) => {
  let gateway: Gateway;
  let front: Awaited<ReturnType<typeof startTlsFront>>;
  beforeAll(async () => {
    gateway = await startGateway(WAYS[way]);
    front = await startTlsFront(gateway.url);
  });
  afterAll(async () => {
    front?.close();
    await gateway?.close();
  });
  beforeEach(() => gateway.simulator.reset());

  /** Collects the events of a client until one of this type. */
  const until = (client: OpenAIRealtimeWS | OpenAIRealtimeWebSocket, type: string) =>
    new Promise<string[]>((resolve, reject) => {
      const types: string[] = [];
      client.on('error', reject);
      client.on('event', (event) => {
        types.push(event.type);
        if (event.type === type) resolve(types);
      });
    });

  test("OpenAI's client for Node converses, and each message passes as it is", async () => {
    const client = new OpenAIRealtimeWS(
      { model: 'gpt-realtime', options: { ca: front.ca } },
      new OpenAI({ baseURL: front.baseURL, apiKey: gateway.key }),
    );
    const created = until(client, 'session.created');
    await created;
    const done = until(client, 'response.done');
    client.send({
      type: 'conversation.item.create',
      item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
    });
    client.send({ type: 'response.create' });
    const types = await done;
    client.close();
    expect(types).toContain('response.output_audio.delta');
    // What the gateway's account has left is not the caller's to see.
    expect(types).not.toContain('rate_limits.updated');
    const [session] = gateway.simulator.realtime.sessions;
    expect(session?.url).toBe('/v1/realtime?model=gpt-realtime');
    expect(session?.headers).toMatchObject({ authorization: 'Bearer sk-provider-secret' });
    expect(session?.events).toEqual([
      {
        type: 'conversation.item.create',
        item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
      },
      { type: 'response.create' },
    ]);
    await session?.closed;
  });

  test('a browser opens a session with a client secret among its subprotocols, which holds model and settings', async () => {
    const key = await createKey(gateway.stack, { name: 'for browsers' });
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key.key, maxRetries: 0 });
    const secret = await openai.realtime.clientSecrets.create({
      expires_after: { anchor: 'created_at', seconds: 60 },
      session: { type: 'realtime', model: 'renamed', instructions: 'Speak like a pirate.' },
    });
    expect(secret.value).toMatch(/^ek_/);
    expect(secret.expires_at * 1000).toBeGreaterThan(Date.now());
    expect(secret.session).toMatchObject({ model: 'renamed', instructions: 'Speak like a pirate.' });
    vi.stubGlobal('WebSocket', front.BrowserSocket);
    onTestFinished(() => void vi.unstubAllGlobals());
    const client = new OpenAIRealtimeWebSocket(
      { model: 'renamed' },
      new OpenAI({ baseURL: front.baseURL, apiKey: secret.value }),
    );
    const done = until(client, 'response.done');
    await until(client, 'session.updated');
    client.send({ type: 'response.create' });
    expect(await done).toContain('response.output_audio.delta');
    client.close();
    const [session] = gateway.simulator.realtime.sessions;
    // The channel's own name, and nothing of the gateway's secrets.
    expect(session?.url).toBe('/v1/realtime?model=gpt-realtime-2');
    expect(JSON.stringify(session?.headers)).not.toContain('ek_');
    expect(session?.events[0]).toEqual({
      type: 'session.update',
      session: { type: 'realtime', instructions: 'Speak like a pirate.' },
    });
    await usageOf(gateway, key, 1);
    expect(gateway.lines.filter(({ text }) => text.includes(secret.value.slice(3, 40)))).toEqual([]);
  });

  test('a client secret is for its model and for sessions alone, and ends with its key', async () => {
    const key = await createKey(gateway.stack, { name: 'soon gone' });
    const made = await gateway.fetch('/v1/realtime/client_secrets', {
      headers: { authorization: `Bearer ${key.key}` },
      json: { session: { type: 'realtime', model: 'gpt-realtime' } },
    });
    expect(made.headers.get('cache-control')).toBe('no-store');
    const { value } = JSON.parse(await made.text());
    const headers = { authorization: `Bearer ${value}` };
    for (const path of ['/v1/models', '/v1/key'])
      expect((await gateway.fetch(path, { headers })).status).toBe(401);
    const again = { headers, json: { session: { model: 'gpt-realtime' } } };
    expect((await gateway.fetch('/v1/realtime/client_secrets', again)).status).toBe(401);
    const other = await callRealtime(gateway, { model: 'renamed', key: { id: key.id, key: value } });
    expect(await other.next('error')).toMatchObject({ error: { code: 'unsupported_value', param: 'model' } });
    expect((await other.closed).code).toBe(1008);
    await revokeKey(gateway.stack, key.id);
    await waitFor(async () => {
      const refused = await callRealtime(gateway, { key: { id: key.id, key: value } }).catch(
        ({ status }: { status: number }) => status,
      );
      if (typeof refused !== 'number') refused.webSocket.terminate();
      return refused === 401;
    });
  });

  test('audio, images, text and cached tokens cost exactly what the price list says, whoever began the response', async () => {
    using caller = await callRealtime(gateway, {
      budget: { usd: 1, period: 'total' },
      limits: { requestsPerMinute: 100, tokensPerMinute: 1_000_000 },
    });
    await caller.next('session.created');
    const content = [
      { type: 'input_text', text: 'What is this?' },
      { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
    ];
    caller.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
    caller.send(CREATE);
    const first = await caller.next('response.done');
    for (const audio of [SOUND, SOUND, SOUND, SILENCE]) caller.send(speak(audio));
    const second = await caller.next('response.done');
    caller.send(CREATE);
    const third = await caller.next('response.done');
    const costs = [first, second, third].map(costOf);
    expect(new Set(costs).size).toBe(3);
    expect(await usageOf(gateway, caller, 3)).toMatchObject(
      costs.map((costMicroUsd) => ({
        ...{ model: 'gpt-realtime', endpoint: 'realtime', channel: 'first', outcome: 'ok' },
        ...{ estimated: false, costMicroUsd },
      })),
    );
    const audio = (await usageOf(gateway, caller, 3)).map(({ audioSeconds }) => audioSeconds);
    expect(audio).toEqual([0, 0.4, 0]);
  });

  test('cancelled and incomplete responses cost what they report, and a failed one without usage nothing', async () => {
    using caller = await callRealtime(gateway);
    const { realtime } = gateway.simulator;
    realtime.scriptResponse({ gate: new Promise(() => undefined) });
    caller.send(CREATE);
    await caller.next('response.output_audio.delta');
    caller.send({ type: 'response.cancel' });
    const cancelled = await caller.next('response.done');
    realtime.scriptResponse({ status: 'incomplete' });
    caller.send(CREATE);
    const incomplete = await caller.next('response.done');
    realtime.scriptResponse({ status: 'failed', usage: null, pieces: 0 });
    caller.send(CREATE);
    await caller.next('response.done');
    expect(await usageOf(gateway, caller, 3)).toMatchObject([
      { outcome: 'cancelled', estimated: false, costMicroUsd: costOf(cancelled) },
      { outcome: 'ok', estimated: false, costMicroUsd: costOf(incomplete) },
      { outcome: 'failed', estimated: false, costMicroUsd: 0, inputTokens: 0 },
    ]);
  });

  test('transcripts of what is said are charged at the price of their own model, by seconds or by tokens', async () => {
    using caller = await callRealtime(gateway);
    const withTranscripts = (model: string) => ({
      type: 'session.update',
      session: {
        type: 'realtime',
        audio: { input: { transcription: { model }, turn_detection: null } },
      },
    });
    caller.send(withTranscripts('whisper-1'));
    await caller.next('session.updated');
    for (let count = 0; count < 15; count += 1) caller.send(speak(SOUND));
    caller.send({ type: 'input_audio_buffer.commit' });
    await caller.next('conversation.item.input_audio_transcription.completed');
    caller.send(withTranscripts('scribe'));
    await caller.next('session.updated');
    // The provider knows the model by another name.
    expect(gateway.simulator.realtime.sessions[0]?.events.at(-1)).toMatchObject({
      session: { audio: { input: { transcription: { model: 'gpt-4o-transcribe' } } } },
    });
    for (let count = 0; count < 10; count += 1) caller.send(speak(SOUND));
    caller.send({ type: 'input_audio_buffer.commit' });
    await caller.next('conversation.item.input_audio_transcription.completed');
    expect(await usageOf(gateway, caller, 2)).toMatchObject([
      { model: 'whisper-1', costMicroUsd: 20_000, audioSeconds: 2 },
      { model: 'scribe', costMicroUsd: 10 * 6 + 3 * 10, inputTokens: 10, outputTokens: 3 },
    ]);
  });

  test('what a session may not change is refused, and the session goes on', async () => {
    using caller = await callRealtime(gateway, { models: ['gpt-realtime', 'elsewhere'] });
    await caller.next('session.created');
    const transcription = (model: string) => ({ audio: { input: { transcription: { model } } } });
    const REFUSED: readonly [object | string, string][] = [
      [{ type: 'session.update', session: { model: 'renamed' } }, 'unsupported_value'],
      [{ type: 'session.update', session: { type: 'transcription' } }, 'unsupported_value'],
      [{ type: 'session.update', session: transcription('whisper-1') }, 'model_not_found'],
      [{ type: 'session.update', session: transcription('elsewhere') }, 'unsupported_model'],
      [{ type: 'session.update', session: transcription('gpt-realtime') }, 'unsupported_model'],
      [{ type: 'transcription_session.update', session: {} }, 'unsupported_value'],
      ['{"type":"input_audio_buffer.clear","type":"response.create"}', 'invalid_request_error'],
      ['{"type":"input_audio_buffer.clear","t\\u0079pe":"response.create"}', 'invalid_request_error'],
      ['{"type":"input_audio_buffer.clear"}{"type":"response.create"}', 'invalid_request_error'],
      ['[{"type":"response.create"}]', 'invalid_request_error'],
      ['no JSON', 'invalid_request_error'],
    ];
    for (const [event, code] of REFUSED) {
      caller.send(typeof event === 'string' ? event : { ...event, event_id: 'mine' });
      const { error } = await caller.next('error');
      expect([event, error]).toEqual([event, expect.objectContaining({ code })]);
      if (typeof event !== 'string') expect(error).toMatchObject({ event_id: 'mine' });
    }
    caller.webSocket.send(Buffer.from('{}'), { binary: true });
    expect(await caller.next('error')).toMatchObject({ error: { code: 'invalid_value' } });
    expect(gateway.simulator.realtime.sessions[0]?.events).toEqual([]);
    // Its own model may be named. The provider's strictness reaches the caller.
    caller.send({
      type: 'session.update',
      session: { type: 'realtime', model: 'gpt-realtime', instructions: 'Hm.' },
    });
    expect(await caller.next('session.updated')).toMatchObject({ session: { instructions: 'Hm.' } });
    caller.send({ type: 'response.fly', event_id: 'odd' });
    expect(await caller.next('error')).toMatchObject({ error: { code: 'invalid_value', event_id: 'odd' } });
  });

  test('another channel begins the session where the first one refuses it, and none takes it over later', async () => {
    using caller = await callRealtime(gateway, { model: 'two-channels' });
    expect(await caller.next('session.created')).toMatchObject({ session: { model: 'two-channels' } });
    const [session] = gateway.simulator.realtime.sessions;
    expect(session?.url).toBe('/v1/realtime?model=other-name');
    session?.cut();
    expect(await caller.next('error')).toMatchObject({ error: { code: 'upstream_error' } });
    expect((await caller.closed).code).toBe(1011);
    expect(gateway.simulator.realtime.sessions).toHaveLength(1);
  });

  const NOT_BEGUN: readonly [string, object, string, number][] = [
    ['a busy provider', { refuse: { status: 503, body: {} } }, 'server_is_overloaded', 1013],
    [
      'an event of an error',
      { first: { type: 'error', error: { type: 'server_error', message: 'Sorry.' } } },
      'upstream_error',
      1013,
    ],
    ['an end without a word', { first: 'close' }, 'upstream_error', 1013],
  ];
  test.for(NOT_BEGUN)('%s before the session begins is an error event', async ([, script, code, closed]) => {
    gateway.simulator.realtime.scriptSession(script);
    using caller = await callRealtime(gateway);
    expect(await caller.next('error')).toMatchObject({ error: { code } });
    expect((await caller.closed).code).toBe(closed);
  });

  test('a session needs the scope, a realtime model that the key may use, and a WebSocket', async () => {
    const narrow = await createKey(gateway.stack, { name: 'narrow', endpoints: ['chat'] });
    await expect(callRealtime(gateway, { key: narrow })).rejects.toMatchObject({
      status: 403,
      body: { error: { code: 'insufficient_permissions' } },
    });
    for (const [model, code] of [
      ['unknown', 'model_not_found'],
      ['gpt-5.2', 'unsupported_model'],
      ['', 'missing_required_parameter'],
      // What its hooks would check cannot be checked in a session.
      ['guarded', 'unsupported_model'],
    ] as const) {
      using caller = await callRealtime(gateway, { model });
      expect(await caller.next('error')).toMatchObject({ error: { code, param: 'model' } });
      expect((await caller.closed).code).toBe(1008);
    }
    using watched = await callRealtime(gateway, { model: 'watched' });
    await watched.next('session.created');
    const plain = await gateway.fetch('/v1/realtime?model=gpt-realtime');
    expect([plain.status, await plain.json()]).toMatchObject([426, { error: { code: 'upgrade_refused' } }]);
    for (const path of ['/v1/realtime/calls', '/v1/realtime/sessions', '/v1/live/sessions'])
      expect((await gateway.fetch(path, { json: {} })).status).toBe(404);
    const models = await gateway.openai.models.list();
    const listed = models.data.find(({ id }) => id === 'gpt-realtime');
    expect(JSON.stringify(listed)).toContain('/v1/realtime');
  });
});
