import { openStandingReader, startFlood, takenAtStandstill } from '@gateway/testkit/start-flood';
import { startRedis } from '@gateway/testkit/start-redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startText } from '../testing/start-text.ts';
import { PAIRS, PATHS, requestOf, type TextProtocolName, TRANSLATED_PAIRS } from '../testing/text-pairs.ts';

const server = { redis: undefined as Redis | undefined, close: async () => undefined as unknown };
beforeAll(async () => {
  const started = await startRedis();
  const redis = new Redis(started.url);
  server.redis = redis;
  server.close = async () => {
    redis.disconnect();
    await started.close();
  };
});
afterAll(() => server.close());

const named = (event: { readonly type: string; readonly [member: string]: unknown }) =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const chunk = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ id: 'chatcmpl_1', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

/** The stream of a text in each protocol: what comes before it, one delta of it, and what comes after it. */
const STREAMS: Record<TextProtocolName, { head: string; delta: (text: string) => string; tail: string }> = {
  responses: {
    head:
      named({ type: 'response.created', response: { id: 'resp_1', status: 'in_progress', output: [] } }) +
      named({
        type: 'response.output_item.added',
        output_index: 0,
        item: { id: 'msg_1', type: 'message', content: [] },
      }) +
      named({
        type: 'response.content_part.added',
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        part: { type: 'output_text', text: '' },
      }),
    delta: (delta) =>
      named({
        type: 'response.output_text.delta',
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        delta,
      }),
    tail: named({
      type: 'response.completed',
      response: {
        id: 'resp_1',
        status: 'completed',
        output: [],
        usage: { input_tokens: 5, output_tokens: 1000 },
      },
    }),
  },
  messages: {
    head:
      named({
        type: 'message_start',
        message: { id: 'msg_1', usage: { input_tokens: 5, output_tokens: 1 } },
      }) + named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    delta: (text) => named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    tail:
      named({ type: 'content_block_stop', index: 0 }) +
      named({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1000 } }) +
      named({ type: 'message_stop' }),
  },
  chat: {
    head: chunk({ role: 'assistant', content: '' }),
    delta: (content) => chunk({ content }),
    tail: `${chunk({}, 'stop')}data: [DONE]\n\n`,
  },
};

/** What a complete stream of each protocol ends with. */
const ENDS: Record<TextProtocolName, string> = {
  responses: '"type":"response.completed"',
  messages: '"type":"message_stop"',
  chat: 'data: [DONE]',
};

const startBefore = async (url: string) => {
  if (server.redis === undefined) throw new Error('no Redis');
  const text = await startText({
    redis: server.redis,
    configuration: `
channels:
  responses: { provider: simulator, baseUrl: "${url}", apiKey: k, speaks: [responses] }
  messages: { provider: simulator, baseUrl: "${url}", apiKey: k, speaks: [messages] }
  chat: { provider: simulator, baseUrl: "${url}", apiKey: k, speaks: [chat] }
models:
  to-responses: { kind: text, routes: [{ channel: responses, model: gpt-5.2 }] }
  to-messages: { kind: text, routes: [{ channel: messages, model: claude-sonnet-5 }] }
  to-chat: { kind: text, routes: [{ channel: chat, model: open-model }] }
`,
  });
  return { ...text, [Symbol.asyncDispose]: () => text.close() };
};

test.for(TRANSLATED_PAIRS)(
  '$caller over $target: 1,000 deltas that arrive in one write all reach the caller',
  async ({ caller, target, model }) => {
    const { head, delta, tail } = STREAMS[target];
    const words = Array.from({ length: 1000 }, (_, index) => `word${index} `.padEnd(200, '.'));
    const all = head + words.map(delta).join('') + tail;
    await using flood = await startFlood({ contentType: 'text/event-stream', piece: all, count: 1 });
    await using text = await startBefore(flood.url);
    const reply = await text.fetch(PATHS[caller], { body: requestOf(caller, model, 'Hi', { stream: true }) });
    const sse = await reply.text();
    for (const word of words) expect(sse.includes(word)).toBe(true);
    expect(sse.includes(ENDS[caller])).toBe(true);
  },
);

const MB = 1024 * 1024;
const PIECE_TEXT = 'x'.repeat(8 * 1024);
/** Four sockets' buffers are in the way, of several megabytes each; what is beyond them would be in our memory. */
const MAX_TAKEN_BYTES = 32 * MB;

test.for(PAIRS)(
  '$caller over $target: a caller who does not read holds up the upstream instead of filling memory',
  async ({ caller, target, model }) => {
    const { head, delta, tail } = STREAMS[target];
    const piece = delta(PIECE_TEXT);
    const count = Math.ceil((100 * MB) / piece.length);
    await using flood = await startFlood({ contentType: 'text/event-stream', head, piece, count, tail });
    await using text = await startBefore(flood.url);
    const reader = await openStandingReader({
      url: `${text.url}${PATHS[caller]}`,
      headers: text.identityHeaders(),
      body: requestOf(caller, model, 'Hi', { stream: true }),
    });
    expect(reader.status).toBe(200);
    expect(await takenAtStandstill(flood, MAX_TAKEN_BYTES)).toBeLessThan(MAX_TAKEN_BYTES);
    // That it goes on when the caller does is the same for all: one that passes and one that is translated are enough.
    if (target === 'chat' && caller !== 'responses') {
      const { bytes, end } = await reader.readAll();
      expect(bytes).toBeGreaterThan(100 * MB);
      expect(end).toContain(ENDS[caller]);
    } else reader.leave();
  },
);
