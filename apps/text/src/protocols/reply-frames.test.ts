import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { collectReply } from '../neutral/reply/collect-reply.ts';
import { testTarget } from '../testing/test-context.ts';
import { CALLERS, dataOf, framesOf } from '../testing/test-streams.ts';
import { parseObject } from '../wire/json-object.ts';
import { PROTOCOLS } from './protocols.ts';

const FOLDER = new URL('./fixtures/replies/', import.meta.url);
const clean = (text: string) => text;

/** Errors, and a body of no protocol: they stay what they are. */
const UNFINISHED = new Set(['chat-error.json', 'chat-nonsense.json', 'gemini-error.json']);

const cases = readdirSync(FOLDER).flatMap((file) => {
  const protocol = CALLERS.find((one) => file.startsWith(`${one}-`));
  const reply = parseObject(readFileSync(new URL(file, FOLDER), 'utf8'));
  return protocol && reply && !UNFINISHED.has(file) ? [{ name: file, protocol, reply }] : [];
});

test.for(cases)('the frames made of $name amount to the same reply', ({ protocol, reply }) => {
  const { replyFrames, decodeStream, decodeReply, createStreamReader, readUsage } = PROTOCOLS[protocol];
  const frames = replyFrames(reply, { hidesUsage: false })?.join('') ?? null;
  if (frames === null) throw new Error('no frames');
  const reader = createStreamReader({ hidesUsage: false });
  for (const frame of framesOf(frames)) reader.frame(frame);
  expect(reader.mayEnd).toBe(true);
  expect(reader.usage).toEqual(readUsage(reply));
  const read = () => {
    const decoder = decodeStream(testTarget(protocol), clean);
    return collectReply([...dataOf(frames).flatMap((data) => [...decoder.event(data)]), ...decoder.end()]);
  };
  const decode = () => decodeReply(reply, testTarget(protocol), clean);
  const outcome = (run: () => unknown) => {
    try {
      return run();
    } catch (error) {
      return String(error);
    }
  };
  expect(outcome(read)).toEqual(outcome(decode));
});

test.for(CALLERS)('what is no finished reply of %s is not made into one', (protocol) => {
  const { replyFrames } = PROTOCOLS[protocol];
  for (const body of [{}, { id: 'x' }, { status: 'in_progress', output: [] }, { type: 'message' }])
    expect(replyFrames(body, { hidesUsage: false })).toBe(null);
});
