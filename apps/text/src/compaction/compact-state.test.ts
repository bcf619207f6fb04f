import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { EMULATED, responsesOf, startCompactionStack, user } from '../testing/compaction-stack.ts';
import type { Stack } from '../testing/start-stack.ts';

/** Compactions in what is kept: background responses, conversations, threads; and in counting. */

let stack: Stack;
let { compact, respond } = {} as ReturnType<typeof responsesOf>;
beforeAll(async () => {
  stack = await startCompactionStack();
  ({ compact, respond } = responsesOf(stack));
  await stack.text.startWorker();
});
afterAll(() => stack?.[Symbol.asyncDispose]());
beforeEach(() => {
  stack.first.reset();
  stack.second.reset();
});

const WORDS = 'Some more words of it. ';
const LONG = `The port is 4711. ${WORDS.repeat(400)}`;
const SUMMARY = 'The user told the port: 4711.';
const INPUT = [user('Keep this in mind.'), { role: 'assistant', content: LONG }, user('What is the port?')];
const COMPACT = [{ type: 'compaction', compact_threshold: 1000 }];

function script(): void {
  stack.second.script({ text: SUMMARY });
  stack.second.script({ text: 'It is 4711.' });
}

const Shown = z.looseObject({ id: z.string(), status: z.string().default('') });
const json = async (reply: Promise<Response>) => Shown.parse(await (await reply).json());

describe.for(EMULATED)('%s', (model) => {
  test('a background response is compacted by the worker, and can be continued', async () => {
    script();
    const body = { model, input: INPUT, context_management: COMPACT, background: true };
    const { id } = await json(stack.text.fetch('/v1/responses', { body }));
    const read = () => json(stack.text.fetch(`/v1/responses/${id}`));
    await waitFor(async () => (await read()).status === 'completed');
    expect(await read()).toMatchObject({
      output: [{ type: 'compaction' }, { type: 'message', content: [{ text: 'It is 4711.' }] }],
    });
    stack.second.reset();
    const next = await respond({ model, previous_response_id: id, input: [user('And the host?')] });
    expect(next.status).toBe(200);
    const sent = (await stack.second.nextRequest()).text();
    expect(sent).toContain(SUMMARY);
    expect(sent).not.toContain(WORDS);
  });

  test('a conversation keeps its compaction, and goes on from it', async () => {
    const { id } = await json(stack.text.fetch('/v1/conversations', { body: { items: INPUT.slice(0, 2) } }));
    script();
    const turn = { model, conversation: id };
    const first = await respond({ ...turn, input: [INPUT[2]], context_management: COMPACT });
    expect(first.json).toMatchObject({ output: [{ type: 'compaction' }, { type: 'message' }] });
    stack.second.reset();
    expect((await respond({ ...turn, input: [user('And the host?')] })).status).toBe(200);
    const sent = (await stack.second.nextRequest()).text();
    for (const part of [SUMMARY, 'What is the port?', 'It is 4711.', 'And the host?'])
      expect(sent).toContain(part);
    expect(sent).not.toContain(WORDS);
    const items = await stack.text.fetch(`/v1/conversations/${id}/items?limit=100`);
    expect(await items.text()).toContain('"compaction"');
  });

  test('a stored conversation can be compacted by its id', async () => {
    const first = await respond({ model, input: INPUT });
    stack.second.reset();
    stack.second.script({ text: SUMMARY });
    const { status, output } = await compact({ model, previous_response_id: first.id });
    expect(status).toBe(200);
    expect(output).toMatchObject([
      { content: [{ text: 'Keep this in mind.' }] },
      { content: [{ text: 'What is the port?' }] },
      { type: 'compaction' },
    ]);
    expect((await stack.second.nextRequest()).text()).toContain(WORDS);
  });

  test("Anthropic's tool runner compacts between its turns, in threads that the gateway keeps", async () => {
    const client = new Anthropic({
      baseURL: stack.text.url,
      apiKey: 'unused',
      maxRetries: 0,
      defaultHeaders: stack.text.identityHeaders(),
    });
    const weather = betaTool({
      name: 'get_weather',
      description: 'The weather of a city.',
      inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      run: () => `It rains. ${WORDS.repeat(20)}`,
    });
    const runner = client.beta.messages.toolRunner({
      model,
      max_tokens: 1000,
      messages: [{ role: 'user', content: 'Please use the tool get_weather' }],
      tools: [weather],
    });
    stack.second.script(({ body }) => body.includes('You write the summary'), { text: SUMMARY });
    let turns = 0;
    for await (const _ of runner) {
      if (turns === 0) runner.compactBeforeNextTurn();
      turns += 1;
    }
    const final = await runner.done();
    expect(JSON.stringify(final.content)).toContain('It rains.');
    const [first, summary, answer] = stack.second.requests.map((request) => request.text());
    expect(stack.second.requests).toHaveLength(3);
    expect(first).toContain('get_weather');
    expect(summary).toContain('It rains.');
    expect(answer).toContain(SUMMARY);
    expect(answer).toContain('It rains.');
  });

  test('a count of tokens includes the window of a compaction', async () => {
    stack.second.script({ text: `${SUMMARY} ${WORDS.repeat(200)}` });
    const { output } = await compact({ model, input: INPUT });
    const count = async (input: readonly unknown[]) => {
      const reply = await stack.text.fetch('/v1/responses/input_tokens', { body: { model, input } });
      const { input_tokens: tokens } = z.looseObject({ input_tokens: z.number() }).parse(await reply.json());
      return tokens;
    };
    const without = await count(output.slice(0, -1));
    expect(await count(output)).toBeGreaterThan(without + 800);
  });
});

test('a team that shares its conversations shares its compactions, and another team does not', async () => {
  const reply = await compact(
    { model: 'over-chat', input: INPUT },
    { identity: { team: 'shared', keyId: 'key_a' } },
  );
  const next = { model: 'over-chat', input: [...reply.output, user('Go on.')] };
  const of = (identity: { team: string | null; keyId: string }) => respond(next, { identity });
  expect((await of({ team: 'shared', keyId: 'key_b' })).status).toBe(200);
  expect((await of({ team: 'others', keyId: 'key_c' })).status).toBe(400);
  expect((await of({ team: null, keyId: 'key_a' })).status).toBe(400);
});

test('a conversation that a provider compacted is continued by that provider, and by nobody else', async () => {
  const first = await respond({ model: 'native', input: INPUT, context_management: COMPACT });
  expect(first.output[0]).toMatchObject({ type: 'compaction' });
  const next = { previous_response_id: first.id, input: [user('Go on.')] };
  expect((await respond({ model: 'native', ...next })).status).toBe(200);
  for (const model of ['native-elsewhere', 'over-chat'])
    expect(await respond({ model, ...next })).toMatchObject({
      status: 400,
      json: { error: { code: 'invalid_encrypted_content', param: 'previous_response_id' } },
    });
  expect(stack.second.requests).toEqual([]);
});
