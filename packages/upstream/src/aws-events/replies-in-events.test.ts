import type { ServerResponse } from 'node:http';
import { eventOf, exceptionOf } from '@gateway/simulator/bedrock/event-message';
import { expect, test } from 'vitest';
import { type ProviderForTests, startProvider, startUpstream } from '../provider-for-tests.ts';
import { sendRequest } from '../sending/send-for-tests.ts';

const chunk = (event: object): Buffer =>
  eventOf('chunk', { bytes: Buffer.from(JSON.stringify(event)).toString('base64'), p: 'abcdefgh' });

const START = chunk({ type: 'message_start', message: { id: 'msg_1', content: [] } });
const TEXT = chunk({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } });
const STOP = chunk({ type: 'message_stop', 'amazon-bedrock-invocationMetrics': { inputTokenCount: 1 } });
const CALM = chunk({ type: 'ping' });
const THROTTLED = exceptionOf('throttlingException', { message: 'Too many tokens, please wait' });
const INVALID = exceptionOf('validationException', { message: 'context_management: Extra inputs' });

const begin = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });

/** Answers in pieces that end anywhere. */
const answering = (...messages: readonly Buffer[]) =>
  startProvider((response) => {
    begin(response);
    const bytes = Buffer.concat(messages);
    for (let at = 0; at < bytes.length; at += 37) response.write(bytes.subarray(at, at + 37));
    response.end();
  });

const corrupt = (message: Buffer): Buffer => {
  const broken = Buffer.from(message);
  broken.writeUInt8(broken.readUInt8(40) ^ 1, 40);
  return broken;
};

async function reply(...providers: readonly ProviderForTests[]) {
  const channels = providers.map(({ origin }, index) => [
    `number-${index}`,
    { origin, speaks: ['messages'] as const },
  ]);
  const upstream = await startUpstream(Object.fromEntries(channels));
  const model = upstream.resolveModel('small');
  if (model === null) throw new Error('no model');
  return sendRequest(upstream, {
    candidates: upstream.candidates({ model, protocol: 'messages' }),
    request: (candidate) => ({
      operation: 'messages',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: candidate.model }),
    }),
    dialect: 'anthropic',
    streamed: true,
    holdsStart: true,
  });
}

const textOf = async ({ body }: Awaited<ReturnType<typeof reply>>): Promise<string> => {
  let text = '';
  for await (const piece of body) text += piece.toString();
  return text;
};

test('binary events reach their reader as an event stream', async () => {
  const answer = await reply(await answering(START, TEXT, STOP));
  expect(answer.headers['content-type']).toBe('text/event-stream; charset=utf-8');
  expect(await textOf(answer)).toBe(
    [
      'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","content":[]}}\n\n',
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}\n\n',
      'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    ].join(''),
  );
});

test.for([
  ['an exception at once', [THROTTLED], 'rate-limited'],
  ['an exception after start events', [START, CALM, THROTTLED], 'rate-limited'],
  ['a wrong checksum', [START, corrupt(TEXT)], 'failed'],
  ['an end within a message', [START, TEXT.subarray(0, 50)], 'failed'],
  ['an end before any output', [START, CALM], 'failed'],
  ['nothing at all', [], 'failed'],
] as const)('%s leads to another channel', async ([, messages, outcome]) => {
  const answer = await reply(await answering(...messages), await answering(START, TEXT, STOP));
  expect(answer.attempts.map((one) => one.outcome)).toEqual([outcome, 'ok']);
  expect(await textOf(answer)).toContain('"text":"Hi"');
});

test('a refusal in the first message is the answer of every channel', async () => {
  const spare = await answering(START, TEXT, STOP);
  const refused = reply(await answering(INVALID), spare);
  await expect(refused).rejects.toMatchObject({ code: 'upstream_rejected' });
  expect(spare.requests).toEqual([]);
});

test.for([
  ['an exception', [THROTTLED], 'rate_limit_error'],
  ['a wrong checksum', [corrupt(TEXT)], 'api_error'],
  ['an end within a message', [TEXT.subarray(0, 50)], 'api_error'],
] as const)('%s after the first output is the event that ends the stream', async ([, messages, type]) => {
  const spare = await answering(START, TEXT, STOP);
  const answer = await reply(await answering(START, TEXT, ...messages), spare);
  const text = await textOf(answer);
  expect(text).toContain('"text":"Hi"');
  expect(text.split('event: ').at(-1)).toMatch(`error\ndata: {"type":"error","error":{"type":"${type}"`);
  expect(spare.requests).toEqual([]);
});
