import type { TestSocket } from '@gateway/testkit/connect-socket';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { EMULATED, startCompactionStack, user } from '../testing/compaction-stack.ts';
import type { Stack } from '../testing/start-stack.ts';

/** Compaction within a chain that only the connection remembers. */

let stack: Stack;
let socket: TestSocket;
beforeAll(async () => {
  stack = await startCompactionStack();
});
afterAll(() => stack?.[Symbol.asyncDispose]());
beforeEach(async () => {
  stack.first.reset();
  stack.second.reset();
  socket = await stack.text.webSocket();
  return () => socket[Symbol.dispose]();
});

const LONG = `The port is 4711. ${'Some more words of it. '.repeat(400)}`;
const INPUT = [user('Keep this in mind.'), { role: 'assistant', content: LONG }, user('What is the port?')];
const COMPACT = [{ type: 'compaction', compact_threshold: 1000 }];
const SUMMARY = 'The user told the port: 4711.';

async function create(body: object) {
  socket.send({ type: 'response.create', store: false, ...body });
  const events = await socket.answer();
  const end = events.at(-1);
  expect(end).toMatchObject({ type: 'response.completed' });
  const { id, output } = Object(end?.response);
  return { types: events.map(({ type }) => type), id, output };
}

describe.for(EMULATED)('%s', (model) => {
  test('a chain above the threshold is compacted, and goes on from what is left of it', async () => {
    stack.second.script({ text: SUMMARY });
    stack.second.script({ text: 'It is 4711.' });
    const { id, types, output } = await create({ model, input: INPUT, context_management: COMPACT });
    expect(types.slice(0, 5)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.compaction.compacting',
      'response.output_item.done',
    ]);
    expect(output).toMatchObject([
      { type: 'compaction' },
      { type: 'message', content: [{ text: 'It is 4711.' }] },
    ]);
    stack.second.reset();
    await create({ model, input: 'And the host?', previous_response_id: id, context_management: COMPACT });
    expect(stack.second.requests).toHaveLength(1);
    const sent = stack.second.requests[0]?.text();
    for (const part of [SUMMARY, 'It is 4711.', 'And the host?']) expect(sent).toContain(part);
    expect(sent).not.toContain('Some more words of it');
  });

  test('a trigger is answered by the compaction alone, which goes on', async () => {
    stack.second.script({ text: SUMMARY });
    const { id, output } = await create({ model, input: [...INPUT, { type: 'compaction_trigger' }] });
    expect(output).toMatchObject([{ type: 'compaction' }]);
    stack.second.reset();
    await create({ model, input: 'And the host?', previous_response_id: id });
    const sent = stack.second.requests[0]?.text();
    for (const part of [SUMMARY, 'And the host?']) expect(sent).toContain(part);
    expect(sent).not.toContain('Some more words of it');
  });
});

test('a provider that compacts itself is asked to, and its compaction goes on to it', async () => {
  const input = [...INPUT, { type: 'compaction_trigger' }];
  const { id, output } = await create({ model: 'native', input, context_management: COMPACT });
  expect(stack.first.requests[0]?.json()).toMatchObject({ input, context_management: COMPACT });
  expect(output).toMatchObject([{ type: 'compaction', encrypted_content: expect.any(String) }]);
  await create({ model: 'native', input: 'And the host?', previous_response_id: id });
  expect(stack.first.requests[1]?.text()).toContain(output[0].encrypted_content);
});
