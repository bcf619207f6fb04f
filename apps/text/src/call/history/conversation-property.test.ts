import { isLongRun } from '@gateway/testkit/is-long-run';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Stack, startStack } from '../../testing/start-stack.ts';

/** What reaches a provider of a conversation that goes on by ids is what it would get from a caller who sends everything. */

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    configuration: (first) => `
channels:
  responses: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [responses], quirks: { storedResponses: false } }
  messages: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [messages] }
  chat: { provider: simulator, baseUrl: "${first}", apiKey: k, speaks: [chat] }
models:
  responses: { kind: text, routes: [{ channel: responses }] }
  messages: { kind: text, routes: [{ channel: messages }] }
  chat: { kind: text, routes: [{ channel: chat }] }
`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());

const TOOLS = [{ type: 'function', name: 'look_up', parameters: { type: 'object', properties: {} } }];

/** What a turn requests, beside its words. */
const WISHES = {
  text: {},
  call: { tool_choice: 'required' },
  reasoning: { reasoning: { effort: 'low' } },
  image: {},
  reference: {},
} as const;

const Turn = fc.record({
  model: fc.constantFrom('responses', 'messages', 'chat'),
  wish: fc.constantFrom('text', 'call', 'reasoning', 'image', 'reference'),
  words: fc.string({ minLength: 1, maxLength: 30, unit: 'grapheme' }).filter((words) => words.trim() !== ''),
  /** Which of the earlier responses it continues, counted from the last; none beyond the first. */
  back: fc.nat({ max: 3 }),
  streamed: fc.boolean(),
});

type Item = Record<string, unknown>;

interface Made {
  readonly id: string;
  /** All that led to it, and its output. */
  readonly items: readonly Item[];
  readonly calls: readonly Item[];
}

/** A line of a stream may hold U+2028 and U+2029, which end no line of it. */
const answer = async (body: object): Promise<Item> => {
  const reply = await stack.text.fetch('/v1/responses', { body });
  expect(reply.status, JSON.stringify(body)).toBe(200);
  const text = await reply.text();
  if (!text.startsWith('event:')) return Object(JSON.parse(text));
  const data = /event: response\.(?:completed|incomplete)\ndata: ([^\n]*)\n/.exec(text)?.[1] ?? '';
  return Object(JSON.parse(data)).response;
};

/** The conversation of the request that reached the provider last, but for ids of items that are there in full. */
const reached = (): unknown => {
  const { input, messages, system } = JSON.parse(String(stack.first.requests.at(-1)?.body));
  return JSON.parse(
    JSON.stringify({ input: input ?? null, messages, system }, (name, value) =>
      name === 'id' && isItemId(value) ? undefined : value,
    ),
  );
};
const isItemId = (value: unknown): boolean => typeof value === 'string' && !value.startsWith('call_');

const PICTURE = `data:image/png;base64,${'iVBORw0KGgo'.repeat(1200)}`;

test('by ids or whole, the same conversation reaches the provider', { timeout: 240_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(Turn, { minLength: 2, maxLength: 7 }), async (turns) => {
      const made: Made[] = [];
      for (const { model, wish, words, back, streamed } of turns) {
        const from = made.at(-1 - back);
        const content = [
          { type: 'input_text', text: words },
          ...(wish === 'image' ? [{ type: 'input_image', image_url: PICTURE }] : []),
        ];
        const outputs = (from?.calls ?? []).map(({ call_id }) => ({
          type: 'function_call_output',
          call_id,
          output: `found for ${words}`,
        }));
        const own: Item[] = [...outputs, { role: 'user', content }];
        const common = { model, tools: TOOLS, stream: streamed, ...WISHES[wish] };
        // A reference to every item that has an id of its own, as some clients send, or the response's id.
        const context = from?.items ?? [];
        const isReferring =
          wish === 'reference' && context.every(({ id, role }) => id !== undefined || role === 'user');
        const referring = context.map((item) =>
          item.id === undefined ? item : { type: 'item_reference', id: item.id },
        );
        const byIds = await answer({
          ...common,
          ...(isReferring
            ? { input: [...referring, ...own] }
            : { input: own, ...(from && { previous_response_id: from.id }) }),
        });
        const reachedByIds = reached();
        await answer({ ...common, store: false, input: [...context, ...own] });
        expect(reachedByIds).toEqual(reached());

        const output: Item[] = Object(byIds.output);
        made.push({
          id: String(byIds.id),
          items: [...context, ...own, ...output],
          calls: output.filter(({ type }) => type === 'function_call'),
        });
      }
    }),
    { numRuns: isLongRun ? 300 : 30 },
  );
});
