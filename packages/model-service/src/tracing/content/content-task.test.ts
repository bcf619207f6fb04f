import { REDACTIONS } from '@gateway/contracts/content-log';
import { expect, test } from 'vitest';
import { type ContentTask, spanContent } from './content-task.ts';

const side = (value: unknown) => ({ json: Buffer.from(JSON.stringify(value)) });
const contentOf = (request: unknown, answer: unknown, given: Partial<ContentTask> = {}) => {
  const attributes = spanContent({
    request: side(request),
    answer: side(answer),
    isOverlong: false,
    maxCharacters: 10_000,
    redact: [...REDACTIONS],
    patterns: {},
    ...given,
  });
  const read = (name: string) => {
    const text = attributes[name];
    return typeof text === 'string' ? JSON.parse(text) : text;
  };
  return {
    input: read('gen_ai.input.messages'),
    output: read('gen_ai.output.messages'),
    system: read('gen_ai.system_instructions'),
    tools: read('gen_ai.tool.definitions'),
    isCut: attributes['gateway.content.cut'],
  };
};

const tool = { type: 'function', name: 'weather', parameters: { type: 'object' } };
const schema = { place: 'Rome' };
/** The same conversation in each protocol. */
const CASES = {
  responses: {
    request: {
      instructions: 'Be brief.',
      tools: [tool],
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'Weather?' }] },
        { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"place":"Rome"}' },
        { type: 'function_call_output', call_id: 'c1', output: 'sunny' },
      ],
    },
    answer: {
      status: 'completed',
      output: [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Easy.' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Sun.' }] },
      ],
    },
  },
  messages: {
    request: {
      system: [{ type: 'text', text: 'Be brief.' }],
      tools: [tool],
      messages: [
        { role: 'user', content: 'Weather?' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'weather', input: schema }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'sunny' }] },
      ],
    },
    answer: {
      role: 'assistant',
      stop_reason: 'end_turn',
      content: [
        { type: 'thinking', thinking: 'Easy.' },
        { type: 'text', text: 'Sun.' },
      ],
    },
  },
  chat: {
    request: {
      tools: [tool],
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Weather?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"place":"Rome"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
      ],
    },
    answer: {
      choices: [
        {
          finish_reason: 'stop',
          message: { role: 'assistant', reasoning_content: 'Easy.', content: 'Sun.' },
        },
      ],
    },
  },
  gemini: {
    request: {
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      tools: [tool],
      contents: [
        { role: 'user', parts: [{ text: 'Weather?' }] },
        { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'weather', args: schema } }] },
        { role: 'tool', parts: [{ functionResponse: { id: 'c1', name: 'weather', response: 'sunny' } }] },
      ],
    },
    answer: {
      candidates: [
        {
          finishReason: 'STOP',
          content: { role: 'model', parts: [{ thought: true, text: 'Easy.' }, { text: 'Sun.' }] },
        },
      ],
    },
  },
};

test.for(Object.entries(CASES))('%s is written in the form of the conventions', ([, { request, answer }]) => {
  const { input, output, system, tools } = contentOf(request, answer);
  expect(system).toEqual([{ type: 'text', content: 'Be brief.' }]);
  expect(tools).toEqual([tool]);
  expect(input).toMatchObject([
    { role: 'user', parts: [{ type: 'text', content: 'Weather?' }] },
    { role: 'assistant', parts: [{ type: 'tool_call', id: 'c1', name: 'weather', arguments: schema }] },
    { parts: [{ type: 'tool_call_response', id: 'c1', response: 'sunny' }] },
  ]);
  expect(output).toEqual([
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning', content: 'Easy.' },
        { type: 'text', content: 'Sun.' },
      ],
      finish_reason: 'stop',
    },
  ]);
});

test('a text that is no list of messages is one message', () => {
  const { input } = contentOf({ input: 'hi' }, null);
  expect(input).toEqual([{ role: 'user', parts: [{ type: 'text', content: 'hi' }] }]);
});

test('what is found by a pattern is taken out, media are left out, and what is too long is marked as cut', () => {
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(4000)}` } };
  const messages = [
    { role: 'user', content: 'old '.repeat(4000) },
    { role: 'user', content: ['Mail ann.lee@example.com about KD-123456', image] },
  ];
  const { input, isCut } = contentOf({ messages }, null, {
    patterns: { customer: 'KD-\\d{6}' },
    redact: [...REDACTIONS, 'customer'],
    maxCharacters: 2000,
  });
  const written = JSON.stringify(input);
  expect(isCut).toBe(true);
  expect(written.length).toBeLessThan(3000);
  expect(written).toContain('Mail [email] about [customer]');
  expect(written).toContain('[image/png, 3000 bytes');
});

test('an answer that is none, and a body that is no JSON, are no messages', () => {
  expect(contentOf('nonsense', ['?'])).toMatchObject({ input: undefined, output: undefined });
});
