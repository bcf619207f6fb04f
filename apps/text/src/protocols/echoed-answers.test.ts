import { readdirSync, readFileSync } from 'node:fs';
import { CONVERSATION_PROTOCOLS, type ConversationProtocol } from '@gateway/upstream/protocol';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { translateReply } from '../conversion/translate-reply.ts';
import { translateRequest } from '../conversion/translate-request.ts';
import { testReplyContext, testTarget, testTokens } from '../testing/test-context.ts';
import { CALLERS, planFor, upstreamOf } from '../testing/test-streams.ts';
import { formatPath } from '../wire/path.ts';
import { parseBody } from '../wire/raw-json.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';

const FOLDER = new URL('./fixtures/replies/', import.meta.url);

const Part = z.looseObject({
  functionCall: z.looseObject({ id: z.string().optional(), name: z.string() }).optional(),
});
const Answer = z.looseObject({
  output: z.array(z.looseObject({ type: z.string(), call_id: z.string().optional() })).default([]),
  content: z.array(z.looseObject({ type: z.string(), id: z.string().optional() })).default([]),
  choices: z
    .array(
      z.looseObject({
        message: z.looseObject({ tool_calls: z.array(z.looseObject({ id: z.string() })).default([]) }),
      }),
    )
    .default([]),
  candidates: z
    .array(z.looseObject({ content: z.looseObject({ parts: z.array(Part).default([]) }) }))
    .default([]),
});
type Answer = z.infer<typeof Answer>;

const QUESTION = { role: 'user', content: 'Hello' };
const GOES_ON = { role: 'user', content: 'Go on.' };

/** The next request of a client that sends an answer back as it came, with a result for each call. */
const NEXT: Readonly<Record<TextProtocol, (answer: Answer) => object>> = {
  responses: ({ output }) => {
    const calls = output.filter(({ type }) => type === 'function_call');
    const results = calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'done' }));
    return { model: 'm', input: [QUESTION, ...output, ...results, GOES_ON] };
  },
  messages: ({ content }) => {
    const calls = content.filter(({ type }) => type === 'tool_use');
    const results = calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'done' }));
    const next = { role: 'user', content: [...results, { type: 'text', text: 'Go on.' }] };
    return { model: 'm', max_tokens: 2000, messages: [QUESTION, { role: 'assistant', content }, next] };
  },
  chat: ({ choices }) => {
    const messages = choices.map(({ message }) => message);
    const calls = messages.flatMap(({ tool_calls }) => tool_calls);
    const results = calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'done' }));
    return { model: 'm', messages: [QUESTION, ...messages, ...results, GOES_ON] };
  },
  gemini: ({ candidates }) => {
    const contents = candidates.map(({ content }) => content);
    const calls = contents.flatMap(({ parts }) => parts.flatMap(({ functionCall: made }) => made ?? []));
    const results = calls.map(({ id, name }) => ({
      functionResponse: { id, name, response: { output: 'done' } },
    }));
    const next = { role: 'user', parts: [...results, { text: 'Go on.' }] };
    return { model: 'm', contents: [{ role: 'user', parts: [{ text: 'Hello' }] }, ...contents, next] };
  },
};

/** What another vendor's model really does not get to see. */
const REAL_LOSS = /annotations$|citations$|logprobs$|reasoning|its own provider knows/;

/** Replies in which there is an answer. */
const ANSWERS = readdirSync(FOLDER).filter(
  (file) => !/-(error|nonsense|nothing|failed|malformed|broken-arguments)\b/.test(file),
);

const CASES = ANSWERS.flatMap((file) => {
  const upstream = upstreamOf(file);
  const others = CALLERS.filter((caller) => caller !== upstream);
  return others.map((caller) => ({ file, upstream, caller }));
});

function answerFor(caller: TextProtocol, upstream: ConversationProtocol, file: string): Answer {
  const reply = parseBody(readFileSync(new URL(file, FOLDER), 'utf8'));
  const { body } = translateReply(planFor(caller, upstream), reply, testReplyContext());
  return Answer.parse(JSON.parse(JSON.stringify(body)));
}

test.for(CASES)(
  '$file: what comes back of an answer to $caller is no loss but for what is really lost',
  ({ file, upstream, caller }) => {
    const answer = answerFor(caller, upstream, file);
    for (const target of CONVERSATION_PROTOCOLS.filter((protocol) => protocol !== caller)) {
      const { dropped } = translateRequest({
        caller,
        body: NEXT[caller](answer),
        target: testTarget(target, { reasoningBack: 'known' }),
        tokens: testTokens,
      });
      const losses = dropped.map(({ path, reason }) => `${reason} at ${formatPath(path)}`);
      expect(losses.filter((loss) => !REAL_LOSS.test(loss))).toEqual([]);
    }
  },
);
