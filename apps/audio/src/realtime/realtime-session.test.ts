import { once } from 'node:events';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { createGate } from '@gateway/simulator/gate';
import { waitFor } from '@gateway/testkit/wait-for';
import { expect, test } from 'vitest';
import { ACCOUNT, MAX_HELD_BYTES, startSession } from '../testing/start-session.ts';

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

test('sound of a response that failed and costs nothing counts with what comes next', async () => {
  const { client, charged, over, sent, provider } = await startSession({ takesAll: true });
  client.send(append(40));
  await waitFor(() => sent.length === 1);
  provider({ type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } });
  provider({ type: 'response.done', response: { id: 'resp_1', status: 'failed', usage: null } });
  client.webSocket.close();
  await over;
  expect(charged).toEqual(['40000 ms of sound']);
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

const begun = { type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } };

test('a provider that falls silent within a response has failed, and one that nobody waits for has not', async () => {
  const { session, client, over, closes, provider } = await startSession();
  const checkAt = (seconds: number) => session.check(seconds * 1000);
  checkAt(0);
  checkAt(100);
  provider(begun);
  checkAt(200);
  checkAt(259);
  provider({ type: 'response.output_text.delta', response_id: 'resp_1', delta: 'Well' });
  checkAt(300);
  checkAt(359);
  expect(session.isIdle).toBe(false);
  checkAt(360);
  expect(await over).toBe('upstream');
  expect(closes).toEqual([true]);
  expect(await client.closed).toMatchObject({ code: 1011 });
  expect(client.events.at(-1)).toMatchObject({ type: 'error', error: { code: 'upstream_timeout' } });
});

test('a response that is requested and never begins is given back, and its session is idle then', async () => {
  const givenBack: string[] = [];
  const { session, client, sent, provider } = await startSession({
    reserve: async () => ({ ...ACCOUNT, eventId: 'event_1', release: () => void givenBack.push('event_1') }),
  });
  client.send({ type: 'response.create', event_id: 'event_1' });
  await waitFor(() => sent.length === 1);
  provider({ type: 'error', error: { type: 'invalid_request_error', message: 'No.' } });
  session.check(0);
  session.check(59_000);
  expect([givenBack, session.isIdle]).toEqual([[], false]);
  session.check(60_000);
  expect([givenBack, session.isIdle]).toEqual([['event_1'], true]);
});

test('a response that begins when its session is over reserves nothing that nobody would give back', async () => {
  const charging = createGate();
  const reserved: boolean[] = [];
  const { client, callerEnd, over, provider } = await startSession({
    reserve: async ({ isCallers }) => {
      reserved.push(isCallers);
      return ACCOUNT;
    },
    charged: () => charging.opened,
  });
  const left = once(callerEnd, 'close');
  client.webSocket.terminate();
  await left;
  await new Promise(setImmediate);
  provider(begun);
  charging.open();
  await over;
  expect(reserved).toEqual([]);
});
