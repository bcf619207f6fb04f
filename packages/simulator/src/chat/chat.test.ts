import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../start-simulator.ts';
import { CHAT_QUIRKS } from './quirks.ts';

const clientOf = ({ baseUrl }: Simulator) =>
  new OpenAI({ baseURL: baseUrl, apiKey: 'sk-test', maxRetries: 0 });
const user = (content: string) => ({ role: 'user' as const, content });
const WEATHER = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

test('a chat answers, calls tools, and answers after their results', async () => {
  await using simulator = await startSimulator();
  const client = clientOf(simulator);
  const plain = await client.chat.completions.create({ model: 'm', messages: [user('Hello')] });
  expect(plain.choices[0]).toMatchObject({ message: { content: 'You said: Hello' }, finish_reason: 'stop' });
  const called = await client.chat.completions.create({
    model: 'm',
    messages: [user('Hi')],
    tools: [WEATHER],
    tool_choice: 'required',
  });
  const message = called.choices[0]?.message;
  expect(called.choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } });
  const call = message?.tool_calls?.[0];
  if (!message || call?.type !== 'function') throw new Error('expected a call');
  expect(call.function.arguments).toBe('{"city":"example city"}');
  const answered = await client.chat.completions.create({
    model: 'm',
    messages: [user('Hi'), message, { role: 'tool', tool_call_id: call.id, content: '18 C' }],
  });
  expect(answered.choices[0]?.message.content).toBe('The tool answered: 18 C');
  const unanswered = client.chat.completions.create({
    model: 'm',
    messages: [user('Hi'), message, user('and?')],
  });
  await expect(unanswered).rejects.toMatchObject({ status: 400, param: 'messages' });
});

test('the official stream helper accepts text and calls, and usage comes last if it was requested', async () => {
  await using simulator = await startSimulator();
  const stream = clientOf(simulator).chat.completions.stream({
    model: 'm',
    messages: [user('use tool get_weather twice')],
    tools: [WEATHER],
    stream_options: { include_usage: true },
  });
  const final = await stream.finalChatCompletion();
  expect(final.choices[0]?.message.tool_calls).toHaveLength(2);
  expect(final.usage?.completion_tokens).toBeGreaterThan(0);
});

const streamed = async (simulator: Simulator, quirk: string, content: string): Promise<string> => {
  const response = await fetch(`${simulator.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'm',
      stream: true,
      stream_options: { include_usage: true },
      reasoning_effort: 'low',
      tools: [WEATHER],
      messages: [user(`${content} [[simulate quirk=${quirk}]]`)],
    }),
  });
  return response.text();
};

test('each quirk of third-party servers changes the stream', async () => {
  await using simulator = await startSimulator({ idSeed: 'a' });
  const anonymous = (text: string) =>
    text.replaceAll(/[0-9a-f]{40}|"created":\d+|quirk=[\w-]+|_tokens":\d+/g, '');
  const plain = {
    text: anonymous(await streamed(simulator, 'plain', 'Hi')),
    call: anonymous(await streamed(simulator, 'plain', 'use tool get_weather')),
  };
  for (const quirk of CHAT_QUIRKS) {
    const text = anonymous(await streamed(simulator, quirk, 'Hi'));
    const call = anonymous(await streamed(simulator, quirk, 'use tool get_weather'));
    expect([text !== plain.text, call !== plain.call], quirk).toContain(true);
  }
});
