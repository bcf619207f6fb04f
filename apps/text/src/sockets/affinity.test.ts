import type { TestSocket } from '@gateway/testkit/connect-socket';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Stack, startStack, TWO_OF_EACH } from '../testing/start-stack.ts';

let stack: Stack;
let socket: TestSocket;
beforeAll(async () => {
  stack = await startStack({ configuration: TWO_OF_EACH });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(async () => {
  socket = await stack.text.webSocket();
  return () => socket[Symbol.dispose]();
});

/** Sends a response's body, and says who was asked for it: `none` of the two providers, or one of them. */
async function ask(body: object) {
  const before = stack.first.requests.length;
  const all = before + stack.second.requests.length;
  socket.send({ type: 'response.create', input: 'hi', store: false, ...body });
  const end = (await socket.answer()).at(-1);
  expect(end).toMatchObject({ type: 'response.completed' });
  const id: unknown = Object(end?.response).id;
  if (stack.first.requests.length + stack.second.requests.length === all) return { id, by: 'none' };
  return { id, by: stack.first.requests.length > before ? 'first' : 'second' };
}

const MODELS = ['native', 'translated'];
const BOTH = new Set(['first', 'second']);
const TIMES = Array.from({ length: 12 }, (_, index) => `conversation-${index}`);

/** A dozen conversations, and more until both providers have begun one: chance prefers the one that answers sooner. */
async function beginAtBoth(converse: () => Promise<string>): Promise<void> {
  const asked = new Set<string>();
  for (let times = 0; times < 12 || (asked.size < 2 && times < 500); times += 1) asked.add(await converse());
  expect(asked).toEqual(BOTH);
}

test.for(MODELS)('%s: what is not stored goes on where its last response was made', async (model) => {
  await beginAtBoth(async () => {
    const { id, by } = await ask({ model });
    expect((await ask({ model, previous_response_id: id })).by).toBe(by);
    return by;
  });
});

test.for([true, false])('a warm-up between two responses moves neither (store: %s)', async (store) => {
  await beginAtBoth(async () => {
    const { id, by } = await ask({ model: 'translated', store });
    const warm = await ask({ model: 'translated', store, previous_response_id: id, generate: false });
    expect(warm.by).toBe('none');
    expect((await ask({ model: 'translated', store, previous_response_id: warm.id })).by).toBe(by);
    return by;
  });
});

test.for([true, false])(
  'after a warm-up at the beginning the key of the prompt cache decides, as in every other request (store: %s)',
  async (store) => {
    const asked = new Set<string>();
    for (const key of TIMES) {
      const body = { model: 'translated', store, prompt_cache_key: key };
      const warm = await ask({ ...body, generate: false });
      const { by } = await ask({ ...body, previous_response_id: warm.id });
      expect((await ask(body)).by).toBe(by);
      asked.add(by);
    }
    expect(asked).toEqual(BOTH);
  },
);
