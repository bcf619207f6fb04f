import { expect, test } from 'vitest';
import { testTarget, testTokens } from '../testing/test-context.ts';
import { formatPath } from '../wire/path.ts';
import { mayHoldTokens, restoreTokens } from './restore-tokens.ts';

const claude = testTokens.seal({ vendor: 'anthropic', kind: 'signature', data: 'EqQBown' });
const openai = testTokens.seal({
  vendor: 'openai',
  kind: 'encrypted',
  data: 'gAAA',
  scope: 'our-organisation',
});
const page = testTokens.seal({ vendor: 'open', kind: 'encrypted', data: 'https://example.org' });

test('a Messages request to Claude loses what other vendors sealed, and nothing else', () => {
  const question = { role: 'user', content: 'Go', extra: { kept: true } };
  const body = {
    model: 'm',
    unknown: 1,
    messages: [
      question,
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'own', signature: 'EqQBnative' },
          { type: 'thinking', thinking: 'foreign', signature: openai },
          { type: 'redacted_thinking', data: openai },
          { type: 'thinking', thinking: 'came back', signature: claude },
          { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
          {
            type: 'web_search_tool_result',
            tool_use_id: 'srvtoolu_1',
            content: [{ encrypted_content: page }],
          },
          { type: 'text', text: 'Found.', citations: [{ encrypted_index: page }] },
        ],
      },
      { role: 'assistant', content: [{ type: 'redacted_thinking', data: `${claude}x` }] },
    ],
  };
  const { body: restored, dropped } = restoreTokens(body, 'messages', testTarget('messages'), testTokens);
  expect(restored).toEqual({
    model: 'm',
    unknown: 1,
    messages: [
      question,
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'own', signature: 'EqQBnative' },
          { type: 'thinking', thinking: 'came back', signature: 'EqQBown' },
          { type: 'text', text: 'Found.' },
        ],
      },
    ],
  });
  expect(dropped.map(({ path }) => formatPath(path))).toEqual([
    'messages[1].content[1]',
    'messages[1].content[2]',
    'messages[1].content[4]',
    'messages[1].content[5]',
    'messages[2].content[0]',
  ]);
});

test('a Responses request to OpenAI keeps its own reasoning and loses the reasoning of others', () => {
  const own = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAnative' };
  const body = {
    input: [
      own,
      { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: openai },
      { type: 'reasoning', summary: [], encrypted_content: claude },
      { role: 'user', content: 'Go' },
    ],
  };
  const { body: restored, dropped } = restoreTokens(body, 'responses', testTarget('responses'), testTokens);
  expect(restored).toEqual({
    input: [
      own,
      { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'gAAA' },
      { role: 'user', content: 'Go' },
    ],
  });
  expect(dropped.map(({ path }) => formatPath(path))).toEqual(['input[2]']);
});

test('a chat request loses sealed reasoning, which no chat server made', () => {
  const body = {
    messages: [
      {
        role: 'assistant',
        content: 'Hi',
        reasoning_details: [{ type: 'reasoning.encrypted', data: claude }],
      },
    ],
  };
  expect(restoreTokens(body, 'chat', testTarget('chat'), testTokens).body).toEqual({
    messages: [{ role: 'assistant', content: 'Hi' }],
  });
});

test('only bodies that could hold a token need to be looked at', () => {
  expect(mayHoldTokens(Buffer.from(JSON.stringify({ data: claude })), 'messages')).toBe(true);
  expect(mayHoldTokens(Buffer.from('{"data":"EqQBnative"}'), 'messages')).toBe(false);
});

test('a token is found at any position, also in a body full of what ends as its prefix does', () => {
  for (const before of ['', '1_', 'wt1_'.repeat(200), '1_'.repeat(99), 'gwt1'.repeat(30)]) {
    expect(mayHoldTokens(Buffer.from(`${before}gwt1_x`), 'messages'), before).toBe(true);
    expect(mayHoldTokens(Buffer.from(`${before}"ä`), 'messages'), before).toBe(false);
  }
});
