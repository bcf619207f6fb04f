import { isLongRun } from '@gateway/testkit/is-long-run';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { StreamCollector } from '../conversion/collect-stream.ts';
import { translateReply } from '../conversion/translate-reply.ts';
import { translateRequest } from '../conversion/translate-request.ts';
import { StreamTranslator } from '../conversion/translate-stream.ts';
import type { ReplyPart } from '../neutral/parts.ts';
import { collectReply } from '../neutral/reply/collect-reply.ts';
import type { Reply } from '../neutral/reply/reply.ts';
import { replyEvents } from '../neutral/reply/reply-events.ts';
import { testReplyContext, testTarget, testTokens } from '../testing/test-context.ts';
import { CALLERS, dataOf, planFor } from '../testing/test-streams.ts';
import { parseArguments } from '../wire/raw-json.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import type { Usage } from '../wire/usage.ts';
import { PROTOCOLS } from './protocols.ts';

const RUNS = isLongRun ? 60 : 20;

const PAIRS = CALLERS.flatMap((caller) => CALLERS.map((upstream) => ({ caller, upstream })));

const text = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .filter((value) => value.trim() !== '');
const name = fc.stringMatching(/^[a-zA-Z0-9_-]{1,40}$/);
const bigNumber = fc.bigInt({ min: 2n ** 60n, max: 2n ** 90n });
/** Arguments as a model writes them: any object, some with spaces, some with numbers that JavaScript cannot hold. */
const callArguments = fc
  .record({
    values: fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.jsonValue()),
    big: bigNumber,
    indent: fc.nat(1),
  })
  .map(({ values, big, indent }) =>
    JSON.stringify({ ...values, Big: 'BIG' }, null, indent).replace('"BIG"', String(big)),
  );
const call = fc
  .record({ name, arguments: callArguments })
  .map((members): ReplyPart => ({ type: 'tool-call', id: '', ...members }));
const reasoning = fc
  .record({ text })
  .map((members): ReplyPart => ({ type: 'reasoning', form: 'trace', texts: [members.text] }));
const textPart = text.map((content): ReplyPart => ({ type: 'text', text: content }));

const usage: Usage = {
  inputTokens: 100,
  cachedInputTokens: 30,
  cacheWriteTokens: 20,
  outputTokens: 50,
  reasoningTokens: 10,
  webSearches: 0,
  reported: true,
};

const replies = fc
  .record({
    reasons: fc.option(reasoning),
    texts: fc.array(textPart, { maxLength: 2 }),
    calls: fc.array(call, { maxLength: 3 }),
  })
  .map(({ reasons, texts, calls }): Reply => {
    const numbered = calls.map((part, index) => ({ ...part, id: `call_${index}` }));
    return {
      parts: [...(reasons ? [reasons] : []), ...texts, ...numbered],
      finish: { reason: calls.length > 0 ? 'tool-calls' : 'stop' },
      usage,
    };
  });

interface Essence {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly reason: string;
  readonly usage: Usage;
}

/** What must never change, whatever the protocols. */
const essence = ({ parts, finish, usage: counted }: Reply): Essence => ({
  text: parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(''),
  reasoning: parts.flatMap((part) => (part.type === 'reasoning' ? part.texts : [])).join(''),
  calls: parts.flatMap((part) =>
    part.type === 'tool-call' ? [{ id: part.id, name: part.name, arguments: part.arguments }] : [],
  ),
  reason: finish.reason,
  usage: counted,
});

type Pair = { readonly caller: TextProtocol; readonly upstream: TextProtocol };

/** What Google has no word for is not told through its protocol. */
const told = (essence: Essence, { caller, upstream }: Pair): Essence => ({
  ...essence,
  usage:
    caller === 'gemini' || upstream === 'gemini' ? { ...essence.usage, cacheWriteTokens: 0 } : essence.usage,
});

/** Some protocols hold arguments as an object: the white space between its members is not kept there. */
const compact = (essence: Essence): Essence => ({
  ...essence,
  calls: essence.calls.map((made) => ({
    ...made,
    arguments: JSON.stringify(parseArguments(made.arguments)),
  })),
});

/** Whether the calls of a stream come whole, as objects. */
const hasWholeCalls = ({ caller, upstream }: Pair): boolean => caller === 'gemini' || upstream === 'gemini';

const contextFor = (caller: TextProtocol, upstream: TextProtocol) => ({
  ...testReplyContext(),
  plan: planFor(caller, upstream),
});

/** What a model of this protocol would have sent. */
const upstreamStream = (reply: Reply, upstream: TextProtocol): string => {
  const encoder = PROTOCOLS[upstream].encodeStream(contextFor(upstream, upstream));
  return [...replyEvents(reply)].flatMap((event) => [...encoder.event(event)]).join('');
};

const readStream = (frames: string, protocol: TextProtocol): Reply => {
  const decoder = PROTOCOLS[protocol].decodeStream(testTarget(protocol), (words) => words);
  return collectReply([...dataOf(frames).flatMap((data) => [...decoder.event(data)]), ...decoder.end()]);
};

/** Cuts bytes at the given positions, which may lie inside a character. */
function cut(bytes: Buffer, positions: readonly number[]): Buffer[] {
  const ends = [...positions.map((position) => position % (bytes.length + 1)), bytes.length].sort(
    (a, b) => a - b,
  );
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

test.for(PAIRS)(
  'a stream of $upstream means the same to a caller of $caller, however it is cut, argument by argument',
  (pair) => {
    const { caller, upstream } = pair;
    const asSent = hasWholeCalls(pair) ? compact : (essence: Essence) => essence;
    fc.assert(
      fc.property(replies, fc.array(fc.nat(), { maxLength: 8 }), (reply, positions) => {
        const translator = new StreamTranslator(planFor(caller, upstream), testReplyContext());
        const chunks = cut(Buffer.from(upstreamStream(reply, upstream)), positions);
        const frames = [...chunks.flatMap((chunk) => translator.push(chunk)), ...translator.end()];
        expect(asSent(essence(readStream(frames.join(''), caller)))).toEqual(
          asSent(told(essence(reply), pair)),
        );
      }),
      { numRuns: RUNS },
    );
  },
);

test.for(PAIRS)('a reply of $upstream means the same to a caller of $caller', (pair) => {
  const { caller, upstream } = pair;
  fc.assert(
    fc.property(replies, (reply) => {
      const sent = PROTOCOLS[upstream].encodeReply(reply, contextFor(upstream, upstream));
      const answer = translateReply(planFor(caller, upstream), parse(sent), testReplyContext());
      const read = PROTOCOLS[caller].decodeReply(parse(answer.body), testTarget(caller), (words) => words);
      expect(compact(essence(read))).toEqual(compact(told(essence(reply), pair)));
    }),
    { numRuns: RUNS },
  );
});

/** Through JSON text, as it would travel, without touching long numbers. */
const parse = (body: object): unknown => {
  const keep = (_key: string, value: unknown, { source = '' }: { source?: string }) =>
    typeof value === 'number' && String(value) !== source ? JSON.rawJSON(source) : value;
  return JSON.parse(JSON.stringify(body), keep);
};

test.for(PAIRS)('a stream of $upstream collected for $caller is the reply that it amounts to', (pair) => {
  const { caller, upstream } = pair;
  fc.assert(
    fc.property(replies, (reply) => {
      const collector = new StreamCollector(planFor(caller, upstream), testReplyContext());
      collector.push(Buffer.from(upstreamStream(reply, upstream)));
      const read = PROTOCOLS[caller].decodeReply(
        parse(collector.end().body),
        testTarget(caller),
        (words) => words,
      );
      expect(compact(essence(read))).toEqual(compact(told(essence(reply), pair)));
    }),
    { numRuns: RUNS / 2 },
  );
});

const userTurn = text.map((content) => ({ role: 'user', content: [{ type: 'text', text: content }] }));
const toolTurns = fc
  .array(fc.record({ name, input: callArguments, result: text, isError: fc.boolean() }), {
    minLength: 1,
    maxLength: 3,
  })
  .map((calls) => [
    {
      role: 'assistant',
      content: calls.map((made, index) => ({
        type: 'tool_use',
        id: `toolu_${index}`,
        name: made.name,
        input: parseArguments(made.input),
      })),
    },
    {
      role: 'user',
      content: calls.map((made, index) => ({
        type: 'tool_result',
        tool_use_id: `toolu_${index}`,
        content: made.result,
        ...(made.isError && { is_error: true }),
      })),
    },
  ]);
const requests = fc
  .record({
    system: fc.array(text, { maxLength: 2 }),
    first: userTurn,
    loops: fc.array(toolTurns, { maxLength: 2 }),
    temperature: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ system, first, loops, temperature }) => ({
    model: 'callers-model',
    max_tokens: 1000,
    temperature,
    system: system.map((content) => ({ type: 'text', text: content })),
    messages: [first, ...loops.flat()],
  }));

test.for(CALLERS)('a request written for %s and read again is written the same', (protocol) => {
  fc.assert(
    fc.property(requests, (body) => {
      const target = testTarget(protocol);
      const once = translateRequest({ caller: 'messages', body, target, tokens: testTokens }).body;
      const twice = translateRequest({
        caller: protocol,
        body: parse(once),
        target,
        tokens: testTokens,
      }).body;
      expect(JSON.stringify(twice)).toBe(JSON.stringify(once));
    }),
    { numRuns: RUNS },
  );
});
