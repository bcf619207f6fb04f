import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { StreamCollector } from '../conversion/collect-stream.ts';
import { StreamTranslator } from '../conversion/translate-stream.ts';
import { testReplyContext } from '../testing/test-context.ts';
import { planFor, type StreamFixture, streamFixtures } from '../testing/test-streams.ts';
import type { TextProtocolName as TextProtocol } from '../testing/text-pairs.ts';
import { isJsonObject } from '../wire/raw-json.ts';

const STREAMS = streamFixtures();
let server: Server;
let origin: string;

/** Answers `/{caller}/{stream}/…` with that stream, translated, in as many writes as it has frames. */
beforeAll(async () => {
  server = createServer((request, response) => {
    const [, caller = '', name = ''] = (request.url ?? '').split('/');
    const stream = STREAMS.find((candidate) => candidate.name === name);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (stream !== undefined && isCaller(caller)) {
      const translator = new StreamTranslator(plan(stream, caller), testReplyContext());
      for (const frame of [...translator.push(stream.bytes), ...translator.end()]) response.write(frame);
    }
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  origin = `http://127.0.0.1:${address.port}`;
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const isCaller = (text: string): text is TextProtocol => ['responses', 'messages', 'chat'].includes(text);

const plan = ({ upstream, quirks }: StreamFixture, caller: TextProtocol) =>
  planFor(caller, upstream, { quirks });

/** The same stream, collected by ourselves; null where it ends in an error, undefined where nothing of it is shown. */
function expected(
  stream: StreamFixture,
  caller: TextProtocol,
): { [member: string]: unknown } | null | undefined {
  const translator = new StreamTranslator(plan(stream, caller), testReplyContext());
  translator.push(stream.bytes);
  translator.end();
  if (translator.failure !== null) return translator.started ? null : undefined;
  const collector = new StreamCollector(plan(stream, caller), testReplyContext());
  collector.push(stream.bytes);
  const body: unknown = JSON.parse(JSON.stringify(collector.end().body));
  if (!isJsonObject(body)) throw new Error('a reply that is no object');
  return body;
}

const casesFor = (caller: TextProtocol) =>
  STREAMS.map((stream) => ({ name: stream.name, reply: expected(stream, caller) })).filter(
    ({ reply }) => reply !== undefined,
  );

const members = (value: object | undefined, names: readonly string[]) =>
  Object.fromEntries(Object.entries(value ?? {}).filter(([name]) => names.includes(name)));

test.for(casesFor('responses'))('openai responses.stream() reads $name', async ({ name, reply }) => {
  const client = new OpenAI({ apiKey: 'k', baseURL: `${origin}/responses/${name}`, maxRetries: 0 });
  const final = client.responses.stream({ model: 'callers-model', input: 'Hello' }).finalResponse();
  if (reply === null || reply === undefined) return await expect(final).rejects.toThrow();
  const { output, status, usage } = await final;
  expect(JSON.parse(JSON.stringify({ output, status, usage }, withoutParsed))).toEqual(
    members(reply, ['output', 'status', 'usage']),
  );
});

/** The client adds what it parsed to the items that it read. */
const withoutParsed = (key: string, value: unknown): unknown =>
  key === 'parsed' || key === 'parsed_arguments' ? undefined : value;

test.for(casesFor('messages'))('@anthropic-ai/sdk messages.stream() reads $name', async ({ name, reply }) => {
  const client = new Anthropic({ apiKey: 'k', baseURL: `${origin}/messages/${name}`, maxRetries: 0 });
  const message = { role: 'user', content: 'Hello' } as const;
  const stream = client.messages.stream({ model: 'callers-model', max_tokens: 10, messages: [message] });
  if (reply === null || reply === undefined) return await expect(stream.finalMessage()).rejects.toThrow();
  const { content, stop_reason, stop_sequence, usage } = await stream.finalMessage();
  const read: unknown = JSON.parse(JSON.stringify({ content, stop_reason, stop_sequence }));
  if (!isWhole(reply)) return expect(read).toMatchObject(members(reply, ['stop_reason', 'stop_sequence']));
  expect(read).toEqual(withoutLongNumbers(members(reply, ['content', 'stop_reason', 'stop_sequence'])));
  expect(usage.output_tokens).toBe(isJsonObject(reply.usage) ? reply.usage.output_tokens : NaN);
});

/** A call that the limit cut has half an object, which the client fills in by itself. */
const isWhole = (reply: { [member: string]: unknown }): boolean => reply.stop_reason !== 'max_tokens';

/** The client reads numbers as JavaScript does. */
const withoutLongNumbers = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test.for(casesFor('chat'))('openai chat.completions.stream() reads $name', async ({ name, reply }) => {
  const client = new OpenAI({ apiKey: 'k', baseURL: `${origin}/chat/${name}`, maxRetries: 0 });
  const messages = [{ role: 'user', content: 'Hello' }] as const;
  const stream = client.chat.completions.stream({ model: 'callers-model', messages: [...messages] });
  if (reply === null || reply === undefined)
    return await expect(stream.finalChatCompletion()).rejects.toThrow();
  const [choice] = Array.isArray(reply.choices) ? reply.choices : [];
  if (!isJsonObject(choice) || !isJsonObject(choice.message)) throw new Error('a reply without a choice');
  const { choices, usage } = await stream.finalChatCompletion();
  const { content, refusal, tool_calls } = choices[0]?.message ?? {};
  expect(content ?? '').toBe(choice.message.content ?? '');
  expect(refusal ?? null).toBe(choice.message.refusal);
  const calls: unknown = JSON.parse(JSON.stringify(tool_calls ?? [], withoutParsed));
  expect(calls).toMatchObject(Array.isArray(choice.message.tool_calls) ? choice.message.tool_calls : []);
  expect(choices[0]?.finish_reason).toBe(choice.finish_reason);
  expect(usage?.total_tokens).toBe(isJsonObject(reply.usage) ? reply.usage.total_tokens : NaN);
});
