import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import type { ContentLog } from '@gateway/model-service/content-log/content-log';
import { createGate } from '@gateway/simulator/gate';
import { connectSocket } from '@gateway/testkit/connect-socket';
import { waitFor } from '@gateway/testkit/wait-for';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import type { SocketSink, UpstreamSocket } from '@gateway/upstream/sockets/open-socket';
import { createUpstream } from '@gateway/upstream/upstream';
import { expect, onTestFinished, test } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { CallerSocket } from './caller-socket.ts';
import { RealtimeSession } from './realtime-session.ts';
import type { ResponseAccount, ResponseAccounts } from './response-accounts.ts';
import { SessionContent } from './session-content.ts';
import { createSessionFacts } from './session-facts.ts';

const FILE = `
channels: { one: { provider: openai, apiKey: sk-0123456789 } }
models:
  voice: { kind: realtime, routes: [{ channel: one, model: gpt-realtime }] }
  scribe: { kind: transcription, routes: [{ channel: one }] }
`;
const IDENTITY: Identity = {
  keyId: 'key_1',
  keyName: 'one',
  team: null,
  models: null,
  endpoints: null,
  accounts: [],
};

const ACCOUNT: ResponseAccount = {
  eventId: null,
  openedAtMs: 0,
  settle: () => undefined,
  release: () => undefined,
};
const ACCOUNTS: Omit<ResponseAccounts, 'transcript' | 'sound'> = {
  reserve: async () => ACCOUNT,
  unreserved: () => ACCOUNT,
  charged: async () => undefined,
  checkKey: async () => IDENTITY,
};

const NO_LOG: ContentLog = { begin: () => null, sweep: async () => 0, close: async () => undefined };

/** What either side has not taken, beyond which there is no room for it. */
const MAX_HELD_BYTES = 300_000;

interface SessionChanges extends Partial<Pick<ResponseAccounts, 'reserve' | 'charged'>> {
  readonly takesAll?: boolean;
}

/** A session between a caller over a real connection and a provider that does what the test has it do. */
async function startSession({ takesAll = false, ...changed }: SessionChanges = {}) {
  const upstream = createUpstream({ configuration: parseConfiguration(FILE, 'gateway.yaml', {}) });
  onTestFinished(() => upstream.close());
  const model = upstream.resolveModel('voice');
  const [candidate] = model === null ? [] : upstream.candidates({ model, protocol: 'realtime' });
  if (candidate === undefined) throw new Error('no candidate');
  const sent: string[] = [];
  const closes: boolean[] = [];
  const charged: string[] = [];
  const accounts: ResponseAccounts = {
    ...ACCOUNTS,
    ...changed,
    transcript: async ({ inputTokens, outputTokens }, transcriber, isGuessed) => {
      const used = `${inputTokens} and ${outputTokens}${isGuessed ? ', guessed' : ''}`;
      charged.push(`${transcriber?.model.name}: ${used}, ${closes.length} closed`);
      return null;
    },
    sound: async (heardMs) => {
      charged.push(`${heardMs} ms of sound`);
      return heardMs > 80_000 ? new GatewayError('rate_limited', 'Too much sound.') : null;
    },
  };
  let sink: SocketSink | undefined;
  const socket: UpstreamSocket = {
    ...{ candidate, attempts: [] },
    get bufferedBytes() {
      return takesAll ? 0 : sent.join('').length;
    },
    start: (started) => {
      sink = started;
    },
    send: (data) => void sent.push(data.toString()),
    pause: () => undefined,
    resume: () => undefined,
    close: (isFailure = false) => void closes.push(isFailure),
  };

  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  onTestFinished(() => server.close());
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  const accepting = once(server, 'connection') as Promise<[WebSocket, { readonly socket: CallerConnection }]>;
  const client = await connectSocket(`http://127.0.0.1:${address.port}`, {});
  onTestFinished(() => client.webSocket.terminate());
  const [webSocket, request] = await accepting;

  const content = new SessionContent({
    ...{ log: NO_LOG, isOn: () => false, headers: {}, model: 'voice', channel: 'one', settleMs: 1000 },
  });
  const { promise: over, resolve: onOver } = Promise.withResolvers<string>();
  const session: RealtimeSession = new RealtimeSession({
    ...{ socket, accounts, content, facts: createSessionFacts(null), upstream, modelName: 'voice' },
    ...{ settings: null, maxJsonDepth: 64, settleMs: 1000, onOver },
    caller: new CallerSocket(webSocket, {
      socket: request.socket,
      memory: {
        hold: (kind, bytes) => {
          if (kind !== 'arriving' && bytes > MAX_HELD_BYTES) throw new GatewayError('overloaded', 'Full.');
        },
        remember: () => null,
        end: () => undefined,
      },
      silenceMs: 60_000,
      now: () => performance.now(),
      onMessage: (data, isBinary) => session.fromCaller(data, isBinary),
      onDrain: () => session.callerDrained(),
      onFlood: () => session.end('flood', new GatewayError('overloaded', 'Too much.')),
      onClose: (isLost) => session.callerClosed(isLost),
    }),
  });
  session.start();
  const provider = (event: object) => sink?.onMessage(Buffer.from(JSON.stringify(event)), false);
  return { client, callerEnd: webSocket, sent, closes, charged, over, provider };
}
type CallerConnection = ConstructorParameters<typeof CallerSocket>[1]['socket'];

test('a caller who takes less than there is room for ends its session, and nobody else notices', async () => {
  const { client, over, closes, provider } = await startSession();
  client.connection.pause();
  provider({ type: 'response.output_text.delta', delta: 'A'.repeat(20_000_000) });
  expect(await over).toBe('flood');
  // It was the caller, and not the provider.
  expect(closes).toEqual([false]);
});

test('what a provider does not take counts as held for its caller', async () => {
  const { client, over, closes } = await startSession();
  client.send({ type: 'input_audio_buffer.append', audio: 'A'.repeat(MAX_HELD_BYTES) });
  expect(await over).toBe('flood');
  expect(closes).toEqual([false]);
  await client.closed;
  expect(client.events).toMatchObject([{ type: 'error', error: { message: 'Too much.' } }]);
});

test('a provider that begins responses without end has failed', async () => {
  const { over, closes, provider } = await startSession();
  for (let count = 0; count < 20; count += 1)
    provider({ type: 'response.created', response: { id: `resp_${count}`, status: 'in_progress' } });
  expect(await over).toBe('flood');
  expect(closes).toEqual([true]);
});

test('what a provider says of the account of the gateway does not reach a caller, wherever an event has it', async () => {
  const { client, provider } = await startSession();
  const error = {
    type: 'invalid_request_error',
    code: 'rate_limit_exceeded',
    message: 'Rate limit reached for gpt-realtime in organization org-0123456789abcdefABCDEF, sk-0123456789.',
  };
  provider({ type: 'error', error });
  provider({
    type: 'response.done',
    response: { id: 'resp_1', status: 'failed', status_details: { type: 'failed', error }, usage: null },
  });
  provider({ type: 'conversation.item.input_audio_transcription.failed', item_id: 'item_1', error });
  const { message: _, ...silent } = error;
  provider({ type: 'error', error: silent });
  const events = await waitFor(() => client.events.length === 4 && client.events);
  const told = { ...error, message: 'Rate limit reached for voice in organization [removed], [removed].' };
  expect(events).toEqual([
    { type: 'error', error: told },
    {
      type: 'response.done',
      response: {
        ...{ id: 'resp_1', status: 'failed', usage: null },
        status_details: { type: 'failed', error: told },
      },
    },
    { type: 'conversation.item.input_audio_transcription.failed', item_id: 'item_1', error: told },
    { type: 'error', error: silent },
  ]);
});

const BASE64_OF_A_SECOND = 64_000;
const append = (seconds: number) => ({
  type: 'input_audio_buffer.append',
  audio: 'A'.repeat(seconds * BASE64_OF_A_SECOND),
});
const spoken = (seconds: number) => ({
  type: 'message',
  role: 'user',
  content: [{ type: 'input_audio', audio: 'A'.repeat(seconds * BASE64_OF_A_SECOND) }],
});

test('sound that no response follows is counted, by the minute and at the end, wherever it is in an event', async () => {
  const { client, charged, over, sent, provider } = await startSession({ takesAll: true });
  client.send(append(40));
  client.send({ type: 'conversation.item.create', item: spoken(30) });
  client.send(append(2));
  // What a response follows is counted with that.
  client.send({ type: 'response.create', response: { input: [spoken(3)] } });
  await waitFor(() => sent.length === 4);
  provider({ type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } });
  provider({ type: 'response.done', response: { id: 'resp_1', status: 'completed', usage: null } });
  client.send(append(90));
  const refused = await waitFor(() => client.events.find(({ type }) => type === 'error'));
  expect(refused).toMatchObject({ error: { message: 'Too much sound.' } });
  client.send(append(1));
  await waitFor(() => sent.length === 6);
  client.webSocket.close();
  await over;
  expect(charged).toEqual(['70000 ms of sound', '90000 ms of sound', '1000 ms of sound']);
});

test('sound of a response that is refused is not counted, since its provider does not get it', async () => {
  const largest: number[] = [];
  const { client, charged, over } = await startSession({
    reserve: async (request) => {
      largest.push(request.largest.inputTokens);
      throw new GatewayError('rate_limited', 'Too many.');
    },
  });
  for (const _ of [1, 2]) client.send({ type: 'response.create', response: { input: [spoken(70)] } });
  await waitFor(() => client.events.length === 2);
  client.webSocket.close();
  await over;
  expect(charged).toEqual([]);
  expect(largest[1]).toBe(largest[0]);
});

test('transcripts that are under way when their caller leaves are charged, reported or not', async () => {
  const { client, callerEnd, sent, charged, closes, over, provider } = await startSession();
  const session = { audio: { input: { transcription: { model: 'scribe' } } } };
  client.send({ type: 'session.update', session });
  await waitFor(() => sent.length === 1);
  provider({ type: 'session.updated', session });
  for (const item_id of ['item_1', 'item_2', 'item_3'])
    provider({ type: 'input_audio_buffer.committed', item_id });
  const left = once(callerEnd, 'close');
  client.webSocket.terminate();
  await left;
  await new Promise(setImmediate);
  expect(closes).toEqual([]);
  const usage = { type: 'tokens', input_tokens: 10, output_tokens: 3 };
  provider({ type: 'conversation.item.input_audio_transcription.failed', item_id: 'item_1' });
  const completed = { type: 'conversation.item.input_audio_transcription.completed', transcript: 'Hello.' };
  provider({ ...completed, item_id: 'item_2', usage });
  // A provider that does not say what it used.
  provider({ ...completed, item_id: 'item_3' });
  expect(await over).toBe('lost');
  expect(charged).toEqual(['scribe: 10 and 3, 0 closed', 'scribe: 6 and 6, guessed, 0 closed']);
  expect(closes).toEqual([false]);
});

test('a session is over when all is reserved, given back and charged that was under way when its caller left', async () => {
  const [reserving, charging] = [createGate(), createGate()];
  const steps: string[] = [];
  const { client, callerEnd, over, sent } = await startSession({
    reserve: async () => {
      steps.push('reserving');
      await reserving.opened;
      return { ...ACCOUNT, release: () => void steps.push('given back') };
    },
    charged: async () => {
      await charging.opened;
      steps.push('charged');
    },
  });
  client.send({ type: 'response.create' });
  await waitFor(() => steps.length === 1);
  const left = once(callerEnd, 'close');
  client.webSocket.terminate();
  await left;
  void over.then(() => steps.push('over'));
  charging.open();
  await new Promise(setImmediate);
  reserving.open();
  await over;
  expect(steps).toEqual(['reserving', 'given back', 'charged', 'over']);
  expect(sent).toEqual([]);
});
