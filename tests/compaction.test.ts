import { waitFor } from '@gateway/testkit/wait-for';
import type OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createKey } from './support/admin-keys.ts';
import { readUsageRecords } from './support/admin-usage.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Compaction through all processes: one request in the records, whatever it took, and none that a limit does not cover. */

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    mode: 'each',
    services: ['edge', 'text', 'admin'],
    replicas: { text: 2 },
    configuration: (origin) => `
channels:
  chat: { provider: simulator, baseUrl: "${origin}", apiKey: k, speaks: [chat] }
models:
  priced:
    kind: text
    maxOutputTokens: 1000
    routes: [{ channel: chat }]
    price: { inputPerMTok: 10, outputPerMTok: 100, longContext: { aboveInputTokens: 4000, inputPerMTok: 1000 } }
`,
  });
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

const LONG = 'Some more words of it. '.repeat(600);
const INPUT: OpenAI.Responses.ResponseInputItem[] = [
  { role: 'user', content: 'Keep this in mind.' },
  { role: 'assistant', content: LONG },
  { role: 'user', content: 'What was it?' },
];
const BODY = {
  model: 'priced',
  input: INPUT,
  context_management: [{ type: 'compaction', compact_threshold: 1000 }],
};
const SUMMARY = 'The user wrote some words.';

test('a compacted answer is one record with the tokens of both requests, each at its own price', async () => {
  const key = await createKey(gateway.stack, { name: 'books' });
  // Each is below the bound of the long-context price; both together are above it.
  gateway.simulator.script({ text: SUMMARY });
  const options = { headers: { authorization: `Bearer ${key.key}` } };
  const response = await gateway.openai.responses.create(BODY, options);
  expect(response.output.map(({ type }) => type)).toEqual(['compaction', 'message']);
  const [record, ...others] = await waitFor(async () => {
    const records = await readUsageRecords(gateway.stack, key.id);
    return records.length > 0 && records;
  });
  expect(others).toEqual([]);
  const { inputTokens, outputTokens } = gateway.simulator.ledger().priced ?? {};
  expect(gateway.simulator.requests).toHaveLength(2);
  expect(record).toMatchObject({
    outcome: 'ok',
    attempts: 2,
    estimated: false,
    inputTokens,
    outputTokens,
    costMicroUsd: 10 * Number(inputTokens) + 100 * Number(outputTokens),
  });
  expect(response.usage).toMatchObject({ input_tokens: inputTokens, output_tokens: outputTokens });
});

test('a limit that does not cover the summary as well lets nothing in', async () => {
  const limits = { tokensPerMinute: 10_000 };
  const key = await createKey(gateway.stack, { name: 'tight', limits });
  const headers = { authorization: `Bearer ${key.key}` };
  const ask = (body: object) => gateway.fetch('/v1/responses', { json: body, headers });
  const { context_management: _, ...plain } = BODY;
  expect((await ask(BODY)).status).toBe(429);
  expect(
    (await ask({ ...BODY, model: 'priced', input: [...INPUT, { type: 'compaction_trigger' }] })).status,
  ).toBe(429);
  expect(gateway.simulator.requests).toEqual([]);
  expect((await ask(plain)).status).toBe(200);
});

test('every replica opens what another one has sealed', async () => {
  gateway.simulator.script(({ body }) => body.includes('You write the summary'), { text: SUMMARY });
  const compacted = await gateway.openai.responses.compact({ model: 'priced', input: INPUT });
  const input = [
    ...(compacted.output as OpenAI.Responses.ResponseInputItem[]),
    { role: 'user' as const, content: 'Go on.' },
  ];
  const before = gateway.lines.length;
  const isOfText = ({ process, text }: { process: string; text: string }) =>
    process.startsWith('text') && text.includes('"path":"/v1/responses"');
  const served = () =>
    new Set(
      gateway.lines
        .slice(before)
        .filter(isOfText)
        .map(({ process }) => process),
    );
  for (let turn = 0; turn < 20 && served().size < 2; turn += 1)
    expect((await gateway.openai.responses.create({ model: 'priced', input })).status).toBe('completed');
  expect(served().size).toBe(2);
  for (const request of gateway.simulator.requests.slice(1)) expect(request.text()).toContain(SUMMARY);
});
