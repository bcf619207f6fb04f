import { expect, test } from 'vitest';
import { effectiveBody } from './effective-body.ts';

const effective = (body: object): Record<string, unknown> =>
  Object(effectiveBody('messages', { model: 'm', max_tokens: 1, messages: [user('hi')], ...body }));

const user = (content: unknown) => ({ role: 'user', content });
const system = (content: unknown, more: object = {}) => ({ role: 'system', content, ...more });
const tool = (name: string, more: object = {}) => ({ name, input_schema: { type: 'object' }, ...more });

test('the old name of an output schema is read as the new one', () => {
  const format = { type: 'json_schema', schema: { type: 'object' } };
  const body = effective({ output_format: format, output_config: { effort: 'low' } });
  expect(body.output_config).toEqual({ effort: 'low', format });
  expect(body).not.toHaveProperty('output_format');
  expect(effective({ output_format: null })).not.toHaveProperty('output_config');
});

test('a request that has nothing of the kind stays as it is', () => {
  const body = { model: 'm', max_tokens: 1, messages: [user('hi')], tools: [tool('a')], custom: 1 };
  expect(effectiveBody('messages', body)).toEqual(body);
});

test.for([
  [{ compaction: { type: 'summarize' } }, ['compaction']],
  [{ inference_geo: 'us' }, ['inference_geo']],
  [{ billing_policy: { bill_to: 'user_profile' } }, ['billing_policy']],
  [{ fallback_credit_token: { token: 't', strict: true } }, ['fallback_credit_token']],
  [{ tools: [tool('a', { allowed_callers: ['code_execution_20250825'] })] }, ['tools', 0, 'allowed_callers']],
  [
    { messages: [user([{ type: 'compaction', content: null, encrypted_content: 'x' }])] },
    ['messages', 0, 'content', 0],
  ],
  [
    { messages: [user('hi'), system([{ type: 'tool_addition', tool: { type: 'mcp_toolset_reference' } }])] },
    ['messages', 1, 'content', 0, 'tool'],
  ],
] as const)('%j is refused with its path', ([body, path]) => {
  expect(() => effective(body)).toThrow(
    expect.objectContaining({ code: 'unsupported_parameter', options: expect.objectContaining({ path }) }),
  );
});

test('who pays is left out where it is the caller', () => {
  expect(effective({ billing_policy: { bill_to: 'self' } })).not.toHaveProperty('billing_policy');
});

test('a summary is shown as the text that it is', () => {
  const compaction = { type: 'compaction', content: 'so far', encrypted_content: 'x', signature: 's' };
  const { messages } = effective({ messages: [{ role: 'assistant', content: [compaction] }, user('hi')] });
  expect(messages).toEqual([{ role: 'assistant', content: [{ type: 'text', text: 'so far' }] }, user('hi')]);
});

test('what was to hold until the next user message holds no longer', () => {
  const spent = system('be brief', { clear_at: 'next_user_message' });
  const kept = system('be kind', { clear_at: 'next_user_message' });
  const { messages } = effective({ messages: [user('hi'), spent, user('and?'), kept] });
  expect(messages).toEqual([user('hi'), system([]), user('and?'), system('be kind')]);
});

test('the last effort that a system message sets counts', () => {
  const messages = [
    user('hi'),
    system('a', { output_config: { effort: 'low' } }),
    { role: 'system', output_config: { effort: 'max' } },
  ];
  const body = effective({ messages, output_config: { effort: 'high' } });
  expect(body.output_config).toEqual({ effort: 'max' });
  expect(body.messages).toEqual([user('hi'), system('a'), system([])]);
});

test('tools are those in effect after every addition and removal', () => {
  const change = (type: string, changed: object) => ({ type, tool: changed });
  const reference = (name: string) => ({ type: 'tool_reference', name });
  const messages = [
    user('hi'),
    system([
      change('tool_removal', reference('a')),
      change('tool_removal', reference('b')),
      change('tool_addition', { type: 'tool_definition', definition: tool('c') }),
      { type: 'text', text: 'changed' },
    ]),
    user('and?'),
    system([change('tool_addition', reference('b'))]),
  ];
  const body = effective({ messages, tools: [tool('a'), tool('b')] });
  expect(body.tools).toEqual([tool('b'), tool('c')]);
  expect(body.messages).toEqual([
    user('hi'),
    system([{ type: 'text', text: 'changed' }]),
    user('and?'),
    system([]),
  ]);
});
