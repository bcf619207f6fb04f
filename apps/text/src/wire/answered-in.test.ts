import { finishReason } from '@gateway/model-service/tracing/gen-ai';
import { expect, test } from 'vitest';
import { answeredIn } from './answered-in.ts';
import type { JsonObject } from './json-object.ts';

const call = { type: 'function_call', name: 'weather' };

test.for<[what: string, reply: JsonObject, reasons: readonly string[]]>([
  ['choices', { choices: [{ finish_reason: 'stop' }, { finish_reason: 'length' }] }, ['stop', 'length']],
  ['a choice with calls', { choices: [{ finish_reason: 'tool_calls' }] }, ['tool_call']],
  ['a choice that goes on', { choices: [{ finish_reason: null }] }, []],
  ['a message', { stop_reason: 'end_turn', content: [] }, ['stop']],
  ['a message with calls', { stop_reason: 'tool_use' }, ['tool_call']],
  ['a message that was refused', { stop_reason: 'refusal' }, ['content_filter']],
  ['a candidate', { candidates: [{ finishReason: 'MAX_TOKENS' }] }, ['length']],
  ['a prompt that was blocked', { promptFeedback: { blockReason: 'SAFETY' } }, ['content_filter']],
  ['a response', { status: 'completed', output: [{ type: 'message' }] }, ['stop']],
  ['a response with calls', { status: 'completed', output: [call] }, ['tool_call']],
  [
    'a response that was cut',
    { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    ['length'],
  ],
  ['a response that failed', { status: 'failed' }, ['error']],
  ['a response under way', { status: 'in_progress' }, []],
  ['a word that nobody knows', { stop_reason: 'bored' }, ['bored']],
  ['nothing', {}, []],
])('why %s has ended has the word of the conventions', ([, reply, reasons]) => {
  const { ends } = answeredIn(reply);
  expect(ends.map((end) => finishReason(String(end)))).toEqual(reasons);
});

test('the model is named as its provider names it', () => {
  expect(answeredIn({ model: 'gpt-5.2-2026-01-01' }).model).toBe('gpt-5.2-2026-01-01');
  expect(answeredIn({ candidates: [], modelVersion: 'gemini-3-pro' }).model).toBe('gemini-3-pro');
  expect(answeredIn({ model: 7 }).model).toBeNull();
});
