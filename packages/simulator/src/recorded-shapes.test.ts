import { expect, test } from 'vitest';
import { isObject } from './json-value.ts';
import { recordedStream, recordedStreamNames } from './recorded-stream.ts';
import { startSimulator } from './start-simulator.ts';

/** The members of a value and of its inner values; all leaves are alike. */
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return [...new Set(value.map((entry) => JSON.stringify(shapeOf(entry))))].sort();
  if (!isObject(value)) return '·';
  const names = Object.keys(value).sort();
  // A value with a `type` has the shape of its type.
  return names.map((name) => (name === 'type' ? `type=${value.type}` : [name, shapeOf(value[name])]));
};

/** Members with the caller's own values. */
const FREE_MEMBERS = new Set(['tools', 'input']);

const eventShapes = (stream: string): string[] =>
  stream
    .trim()
    .split('\n\n')
    .map((frame) => {
      const [name, data] = frame.startsWith('event: ') ? frame.split('\n') : ['', frame];
      const text = data?.slice('data: '.length) ?? '';
      if (text === '[DONE]') return text;
      const parsed: unknown = JSON.parse(text, (key, value: unknown) =>
        FREE_MEMBERS.has(key) ? null : value,
      );
      return `${name} ${JSON.stringify(shapeOf(parsed))}`;
    });

const RESPONSES = [
  { input: 'Hi' },
  { input: 'use tool apply_patch', tools: [{ type: 'custom', name: 'apply_patch' }] },
  { input: 'Hi [[simulate error-event-after=5]]' },
  { input: 'search the files', tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] },
  {
    input: 'use tool get_weather',
    tools: [{ type: 'function', name: 'get_weather', parameters: { type: 'object' } }],
  },
  { input: '[[simulate tokens=40]]', max_output_tokens: 16 },
  { input: 'Hi [[simulate raw-reasoning]]', reasoning: { summary: 'auto' } },
  { input: 'Hi', reasoning: { effort: 'medium', summary: 'auto' } },
  { input: '[[simulate refusal]]' },
  {
    input: 'search the web',
    tools: [{ type: 'web_search_preview' }],
    include: ['web_search_call.action.sources'],
  },
];

const THINKING = { type: 'enabled', budget_tokens: 1024 };
const MESSAGES = [
  { text: 'Hi' },
  { text: 'Hi [[simulate error-event-after=4]]' },
  { text: '[[simulate tokens=9000]]' },
  { text: 'Hi [[simulate redacted-thinking]]', thinking: THINKING },
  { text: '[[simulate refusal]]' },
  { text: 'Hi', thinking: THINKING },
  { text: 'use tool get_weather', tools: [{ name: 'get_weather', input_schema: { type: 'object' } }] },
  { text: 'search the web', tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
].map(({ text, ...rest }) => ({ max_tokens: 4000, messages: [{ role: 'user', content: text }], ...rest }));

test.for([
  ['responses', RESPONSES],
  ['messages', MESSAGES],
] as const)(
  'every event of a %s stream has a recorded shape, and every recorded shape occurs',
  async ([path, requests]) => {
    await using simulator = await startSimulator();
    const recorded = new Set<string>();
    for (const name of recordedStreamNames().filter((name) => name.startsWith(path))) {
      for (const shape of eventShapes(recordedStream(name).toString())) recorded.add(shape);
    }
    const made = new Set<string>();
    for (const request of requests) {
      const response = await fetch(`${simulator.baseUrl}/${path}`, {
        method: 'POST',
        headers: { 'x-api-key': 'k', 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', stream: true, ...request }),
      });
      for (const shape of eventShapes(await response.text())) made.add(shape);
    }
    expect([...made].sort()).toEqual([...recorded].sort());
  },
);
