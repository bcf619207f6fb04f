import fc from 'fast-check';
import { expect, test } from 'vitest';
import { InputTextDecoder } from '../conversion/input-text-decoder.ts';
import { translateReply } from '../conversion/translate-reply.ts';
import { translateRequest } from '../conversion/translate-request.ts';
import { StreamTranslator } from '../conversion/translate-stream.ts';
import { testReplyContext, testTarget, testTokens } from '../testing/test-context.ts';

test('free text is read out of its object exactly, wherever that is cut', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.array(fc.nat(), { maxLength: 5 }),
      fc.boolean(),
      (text, positions, escaped) => {
        const plain = JSON.stringify({ input: text });
        const json = escaped
          ? plain.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
          : plain;
        const ends = [...positions.map((position) => position % (json.length + 1)), json.length].sort(
          (a, b) => a - b,
        );
        const decoder = new InputTextDecoder();
        const pieces = ends.map((end, index) => decoder.push(json.slice(ends[index - 1] ?? 0, end)));
        expect(pieces.join('') + decoder.end()).toBe(text);
      },
    ),
  );
});

test('free text that is not in the requested member is still not lost', () => {
  const decode = (json: string) => {
    const decoder = new InputTextDecoder();
    return decoder.push(json) + decoder.end();
  };
  expect(decode('{"note":1,"input":"late"}')).toBe('late');
  expect(decode('plain text')).toBe('plain text');
  expect(decode('')).toBe('');
});

const codex = {
  model: 'callers-model',
  input: 'Patch it',
  tools: [
    { type: 'custom', name: 'apply_patch' },
    { type: 'namespace', name: 'crm', tools: [{ type: 'function', name: 'find customer!' }] },
  ],
};

const chunk = (...calls: object[]) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: calls } }] })}\n\n`;

test('free-text tools and namespaces come back as the caller declared them, streamed', () => {
  const target = testTarget('chat');
  const { body, plan } = translateRequest({ caller: 'responses', body: codex, target, tokens: testTokens });
  const names = JSON.stringify(body).match(/"name":"[^"]*"/g);
  expect(names).toEqual([
    '"name":"apply_patch"',
    expect.stringMatching(/^"name":"crm__find_customer__[0-9a-f]{8}"$/),
  ]);
  const shortName = [...plan.restore.tools.keys()][1];
  const translator = new StreamTranslator(plan, testReplyContext());
  const frames = [
    ...translator.push(
      Buffer.from(
        chunk({ index: 0, id: 'call_A', function: { name: 'apply_patch', arguments: '{"input": "*** Be' } }),
      ),
    ),
    ...translator.push(Buffer.from(chunk({ index: 0, function: { arguments: 'gin\\n\\"x\\""}' } }))),
    ...translator.push(
      Buffer.from(chunk({ index: 1, id: 'call_B', function: { name: shortName, arguments: '{}' } })),
    ),
    ...translator.push(
      Buffer.from('data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n'),
    ),
  ].join('');
  expect(frames).toContain('"type":"response.custom_tool_call_input.delta","sequence_number":3');
  expect(frames).toContain('"delta":"*** Be"');
  expect(frames).toContain('"name":"apply_patch","input":"*** Begin\\n\\"x\\""');
  expect(frames).toContain('"call_id":"call_B","name":"find customer!","namespace":"crm","arguments":"{}"');
});

test('the forced tool that replaces structured output comes back as text', () => {
  const { plan } = translateRequest({
    caller: 'responses',
    body: {
      model: 'm',
      input: 'A city',
      text: { format: { type: 'json_schema', name: 'city', schema: { type: 'object' } } },
    },
    target: testTarget('messages', { structuredOutput: 'none' }),
    tokens: testTokens,
  });
  const reply = {
    content: [{ type: 'tool_use', id: 'toolu_1', name: plan.restore.answerTool, input: { city: 'Rome' } }],
    stop_reason: 'tool_use',
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  expect(translateReply(plan, reply, testReplyContext()).body).toMatchObject({
    status: 'completed',
    output: [{ type: 'message', content: [{ type: 'output_text', text: '{"city":"Rome"}' }] }],
  });
});

test('a schema next to tools is refused where one forced tool would have to replace it', () => {
  const body = {
    model: 'm',
    input: 'A city',
    tools: [{ type: 'function', name: 'a' }],
    text: { format: { type: 'json_schema', name: 'city', schema: { type: 'object' } } },
  };
  const target = testTarget('messages', { structuredOutput: 'none' });
  expect(() => translateRequest({ caller: 'responses', body, target, tokens: testTokens })).toThrow(
    expect.objectContaining({
      code: 'unsupported_parameter',
      options: expect.objectContaining({ path: ['text', 'format'] }),
    }),
  );
});
