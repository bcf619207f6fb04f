import { expect, test } from 'vitest';
import { keptItems, keptMessages, withShortOutputs } from './kept-window.ts';

const user = (text: string) => ({ type: 'message', role: 'user', content: text });
const developer = { type: 'message', role: 'developer', content: 'Be careful.' };
const assistant = (text: string) => ({ type: 'message', role: 'assistant', content: text });
const reasoning = { type: 'reasoning', summary: [], encrypted_content: 'x' };
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' });
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'done' });

test('the latest message of the user is the last step, and earlier ones stay with the instructions', () => {
  const items = [developer, user('one'), assistant('a'), call('c'), output('c'), user('two'), user('three')];
  expect(keptItems(items, 1000)).toEqual({
    before: [developer, user('one')],
    after: [user('two'), user('three')],
  });
});

test('the latest outputs of tools stay with their calls and the reasoning before these', () => {
  const step = [reasoning, call('a'), call('b'), output('a'), output('b')];
  const items = [user('one'), call('old'), output('old'), assistant('x'), ...step];
  expect(keptItems(items, 1000)).toEqual({ before: [user('one')], after: step });
});

test('no output in the last step is without its call, however they overlap', () => {
  const items = [
    user('one'),
    call('a'),
    call('b'),
    output('b'),
    assistant('x'),
    call('c'),
    output('a'),
    output('c'),
  ];
  expect(keptItems(items, 1000).after).toEqual(items.slice(1));
});

test('of the earlier messages the latest that fit stay, instructions always', () => {
  const items = [developer, user('old'), user('x'.repeat(500)), user('new'), assistant('a'), user('now')];
  expect(keptItems(items, 300).before).toEqual([developer, user('new')]);
});

test('of earlier messages pictures and files are named, and of the latest they are kept', () => {
  const picture = { type: 'input_image', image_url: 'data:image/png;base64,AAAA' };
  const shown = (text: string) => ({ role: 'user', content: [{ type: 'input_text', text }, picture] });
  const { before, after } = keptItems([shown('one'), assistant('a'), shown('two')], 1000);
  expect(JSON.stringify(before)).not.toContain('base64');
  expect(JSON.stringify(before)).toContain('[an image]');
  expect(after).toEqual([shown('two')]);
});

test('a conversation that ends with its assistant keeps no step', () => {
  expect(keptItems([user('one'), assistant('a')], 1000)).toEqual({ before: [user('one')], after: [] });
});

const use = { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] };
const result = (text: string) => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: 't', content: text }],
});

test('messages: the latest results stay with the message that called, and earlier ones go with their calls', () => {
  const mixed = { role: 'user', content: [...result('old').content, { type: 'text', text: 'and this' }] };
  const messages = [{ role: 'user', content: 'one' }, use, mixed, use, result('new')];
  expect(keptMessages(messages, 1000)).toEqual({
    before: [
      { role: 'user', content: 'one' },
      { role: 'user', content: [{ type: 'text', text: 'and this' }] },
    ],
    after: [use, result('new')],
  });
});

test('messages: an unfinished answer of the assistant is no step', () => {
  const messages = [
    { role: 'user', content: 'one' },
    { role: 'assistant', content: 'It is' },
  ];
  expect(keptMessages(messages, 1000)).toEqual({ before: [messages[0]], after: [] });
});

test('what tools returned in the last step is bounded for later turns', () => {
  const long = 'a'.repeat(50_000);
  for (const entry of [{ ...output('a'), output: long }, result(long)]) {
    const text = JSON.stringify(withShortOutputs(entry));
    expect(text.length).toBeLessThan(13_000);
    expect(text).toContain('characters left out');
  }
  expect(withShortOutputs(user(long))).toEqual(user(long));
});
