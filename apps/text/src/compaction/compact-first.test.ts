import { waitFor } from '@gateway/testkit/wait-for';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { EMULATED, eventsOf, responsesOf, startCompactionStack, user } from '../testing/compaction-stack.ts';
import type { Stack } from '../testing/start-stack.ts';

let stack: Stack;
let { respond } = {} as ReturnType<typeof responsesOf>;
beforeAll(async () => {
  stack = await startCompactionStack();
  ({ respond } = responsesOf(stack));
});
afterAll(() => stack?.[Symbol.asyncDispose]());
beforeEach(() => {
  stack.first.reset();
  stack.second.reset();
});

const LONG = `The port is 4711. ${'Some more words of it. '.repeat(400)}`;
const INPUT = [user('Keep this in mind.'), { role: 'assistant', content: LONG }, user('What is the port?')];
const COMPACT = [{ type: 'compaction', compact_threshold: 1000 }];
const SUMMARY = 'The user told the port: 4711.';

/** What the model writes: first the summary, then the answer. */
function script(summary = SUMMARY, answer = 'It is 4711.') {
  stack.second.script({ text: summary });
  stack.second.script({ text: answer });
}

const stream = async (body: object) =>
  eventsOf(await stack.text.fetch('/v1/responses', { body: { ...body, stream: true } }));

const ITEM = {
  type: 'compaction',
  id: expect.stringMatching(/^cmp_/),
  encrypted_content: expect.stringMatching(/^gwc1_/),
};

describe.for(EMULATED)('%s', (model) => {
  test('a conversation above the threshold is compacted, and answered from what is left of it', async () => {
    script();
    const { status, json } = await respond({ model, input: INPUT, context_management: COMPACT });
    expect({ status, json }).toMatchObject({
      status: 200,
      json: { status: 'completed', output: [ITEM, { type: 'message', content: [{ text: 'It is 4711.' }] }] },
    });
    const [summary, answer] = stack.second.requests;
    expect(stack.second.requests).toHaveLength(2);
    expect(summary?.text()).toContain('Some more words of it. Some more');
    expect(answer?.text()).toContain(SUMMARY);
    expect(answer?.text()).toContain('What is the port?');
    expect(answer?.text()).not.toContain('compact_threshold');
  });

  test('what both requests used is in the usage and in the log', async () => {
    script();
    const requestId = `req_both_${model}`;
    const { usage, headers } = await respond(
      { model, input: INPUT, context_management: COMPACT },
      { headers: { 'x-request-id': requestId } },
    );
    const ledger = Object.values(stack.second.ledger())[0];
    expect(ledger).toMatchObject({
      requests: 2,
      inputTokens: usage?.input_tokens,
      outputTokens: usage?.output_tokens,
    });
    const line = await waitFor(() => stack.text.lines.find((it) => it.requestId === requestId));
    expect(line).toMatchObject({
      compaction: 'threshold',
      compactedBy: 'gateway',
      inputTokens: usage?.input_tokens,
      outputTokens: usage?.output_tokens,
    });
    expect(headers.get('x-gateway-dropped')).toBeNull();
  });

  test('the events of the compaction come before the answer, with the numbers and positions of the protocol', async () => {
    script();
    const events = await stream({ model, input: INPUT, context_management: COMPACT });
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
    const [, , added, compacting, done, next] = events;
    expect([added, compacting, done]).toMatchObject([
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { type: 'compaction', encrypted_content: '' },
      },
      { type: 'response.compaction.compacting', output_index: 0, item_id: added?.item?.id },
      { type: 'response.output_item.done', output_index: 0, item: ITEM },
    ]);
    expect(next).toMatchObject({ type: 'response.output_item.added', output_index: 1 });
    expect(events.at(-1)?.response?.output).toMatchObject([
      done?.item,
      { content: [{ text: 'It is 4711.' }] },
    ]);
  });

  test('a shorter conversation is answered as it is', async () => {
    const { output, headers } = await respond({ model, input: 'Hello', context_management: COMPACT });
    expect(output).toMatchObject([{ type: 'message' }]);
    expect(headers.get('x-gateway-dropped')).toBeNull();
    expect(stack.second.requests).toHaveLength(1);
    expect(stack.second.requests[0]?.text()).not.toContain('context_management');
  });

  test('a trigger at the end of the input is answered by the compaction alone, which can be gone on from', async () => {
    stack.second.script({ text: SUMMARY });
    const input = [...INPUT, { type: 'compaction_trigger' }];
    const { json, id, usage, output } = await respond({ model, input, instructions: 'Be brief.' });
    expect(json).toMatchObject({ status: 'completed', instructions: 'Be brief.', output: [ITEM] });
    expect(output).toHaveLength(1);
    expect(Object.values(stack.second.ledger())[0]).toMatchObject({
      requests: 1,
      inputTokens: usage?.input_tokens,
    });
    for (const next of [
      { previous_response_id: id, input: [user('And the host?')] },
      { input: [user('Keep this in mind.'), user('What is the port?'), ...output, user('And the host?')] },
    ]) {
      stack.second.reset();
      expect((await respond({ model, ...next })).status).toBe(200);
      const sent = (await stack.second.nextRequest()).text();
      for (const part of ['Keep this in mind.', 'What is the port?', SUMMARY, 'And the host?'])
        expect(sent.split(part), part).toHaveLength(2);
      expect(sent).not.toContain('Some more words of it');
    }
  });

  test('a streamed trigger ends after the compaction', async () => {
    stack.second.script({ text: SUMMARY });
    const events = await stream({ model, input: [...INPUT, { type: 'compaction_trigger' }], store: false });
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.compaction.compacting',
      'response.output_item.done',
      'response.completed',
    ]);
  });

  test('a stored conversation goes on from its compaction alone', async () => {
    script();
    const first = await respond({ model, input: INPUT, context_management: COMPACT });
    stack.second.reset();
    const next = await respond({
      model,
      input: [user('And the host?')],
      previous_response_id: first.id,
    });
    expect(next.status).toBe(200);
    const sent = (await stack.second.nextRequest()).text();
    for (const part of [SUMMARY, 'What is the port?', 'It is 4711.', 'And the host?'])
      expect(sent).toContain(part);
    expect(sent).not.toContain('Some more words of it. '.repeat(300));
    expect(sent).not.toContain('gwc1_');
  });

  test('of a conversation that the caller holds, what is before the compaction need not be sent, and counts no more', async () => {
    script();
    const first = await respond({ model, input: INPUT, context_management: COMPACT });
    const [item, message] = first.output;
    for (const before of [[], INPUT]) {
      stack.second.reset();
      const input = [...before, item, message, user('And the host?')];
      expect((await respond({ model, input })).status).toBe(200);
      const sent = (await stack.second.nextRequest()).text();
      expect(sent.split('What is the port?')).toHaveLength(2);
      expect(sent.split(SUMMARY)).toHaveLength(2);
    }
  });
});

test('a summary that is empty, cut off or refused is an error, which is billed', async () => {
  const body = { model: 'over-chat', input: INPUT, context_management: COMPACT };
  for (const reply of [{ text: ' ' }, { tokens: 20_000 }, { refusal: true as const }]) {
    stack.second.reset();
    stack.second.script(reply);
    const requestId = `req_${Object.keys(reply)[0]}`;
    const { status, json } = await respond(body, { headers: { 'x-request-id': requestId } });
    expect({ status, json }).toMatchObject({
      status: 502,
      json: { error: { code: 'compaction_unavailable', message: expect.stringMatching(/summary was/) } },
    });
    expect(stack.second.requests).toHaveLength(1);
    const line = await waitFor(() => stack.text.lines.find((it) => it.requestId === requestId));
    expect(line).toMatchObject({ inputTokens: expect.any(Number), outputTokens: expect.any(Number) });
    expect(Number(line.inputTokens)).toBeGreaterThan(1000);
  }
});

test('a conversation that the model finds too long is summarised with less of what tools returned', async () => {
  const call = { type: 'function_call', call_id: 'c1', name: 'cat', arguments: '{"path":"src/long.ts"}' };
  const output = { type: 'function_call_output', call_id: 'c1', output: 'a line of it\n'.repeat(2000) };
  const input = [user('Read it.'), call, output, user('And now?')];
  stack.second.script({ fault: 'context-length' });
  script();
  const { status } = await respond({ model: 'over-chat', input, context_management: COMPACT });
  expect(status).toBe(200);
  const [first, second] = stack.second.requests;
  expect(stack.second.requests).toHaveLength(3);
  expect(second?.text().length).toBeLessThan((first?.text().length ?? 0) / 2);
  for (const request of [first, second]) {
    expect(request?.text()).toContain('src/long.ts');
    expect(request?.text()).toContain('characters left out');
  }
});

test('a provider that compacts itself is passed the threshold, and its item the way back', async () => {
  const body = { model: 'native', input: INPUT, context_management: COMPACT };
  const { output } = await respond(body);
  expect(output[0]).toMatchObject({
    type: 'compaction',
    encrypted_content: expect.stringMatching(/^gAAAA/),
  });
  expect((await stack.first.nextRequest()).json()).toEqual(body);
  const events = await stream({ ...body, store: false });
  const item = events.at(-1)?.response?.output[0];
  expect((await respond({ model: 'native', input: [item, user('Go on.')] })).status).toBe(200);
  const refused = await respond({ model: 'over-chat', input: [item, user('Go on.')] });
  expect(refused).toMatchObject({ status: 400, json: { error: { param: 'input[0].encrypted_content' } } });
});

test('a fallback for a channel that compacts answers all the same, and names what it left out', async () => {
  stack.first.script({ status: 503 });
  const { status, output, headers } = await respond({
    model: 'native-first',
    input: INPUT,
    context_management: COMPACT,
  });
  expect(status).toBe(200);
  expect(output).toMatchObject([{ type: 'message' }]);
  expect(headers.get('x-gateway-dropped')).toBe('context_management');
});

test("the official client's stream helper takes it, and what it collects can be sent back", async () => {
  const client = new OpenAI({
    baseURL: `${stack.text.url}/v1`,
    apiKey: 'unused',
    maxRetries: 0,
    defaultHeaders: stack.text.identityHeaders(),
  });
  script();
  const request = {
    model: 'over-chat',
    input: INPUT as OpenAI.Responses.ResponseInputItem[],
    context_management: [{ type: 'compaction', compact_threshold: 1000 }],
  };
  const final = await client.responses.stream(request).finalResponse();
  expect(final.output.map(({ type }) => type)).toEqual(['compaction', 'message']);
  const compacted = await client.responses.compact({ model: 'over-chat', input: request.input });
  expect(compacted.object).toBe('response.compaction');
  const next = await client.responses.create({
    model: 'over-chat',
    input: [
      ...(compacted.output as OpenAI.Responses.ResponseInputItem[]),
      { role: 'user', content: 'Go on.' },
    ],
  });
  expect(next.status).toBe('completed');
});
