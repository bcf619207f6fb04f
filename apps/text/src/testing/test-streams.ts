import { readdirSync, readFileSync } from 'node:fs';
import { createFrameReader, type Frame } from '@gateway/contracts/event-stream/frame-reader';
import type { QuirksInput } from '@gateway/contracts/quirks';
import { recordedStream, recordedStreamNames } from '@gateway/simulator/recorded-stream';
import { CONVERSATION_PROTOCOLS, type ConversationProtocol } from '@gateway/upstream/protocol';
import { translateRequest } from '../conversion/translate-request.ts';
import type { AnswerPlan } from '../neutral/target.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import { testTarget, testTokens } from './test-context.ts';

const FOLDER = new URL('../protocols/fixtures/streams/', import.meta.url);

export const CALLERS: readonly TextProtocol[] = ['responses', 'messages', 'chat', 'gemini'];

/** The protocol of an upstream, by which the name of a fixture begins. */
export function upstreamOf(name: string): ConversationProtocol {
  const protocol = CONVERSATION_PROTOCOLS.find((candidate) => name.startsWith(`${candidate}-`));
  if (protocol === undefined) throw new Error(`${name} does not begin with a protocol`);
  return protocol;
}

export interface StreamFixture {
  readonly name: string;
  readonly upstream: ConversationProtocol;
  readonly bytes: Buffer;
  readonly quirks: QuirksInput;
}

/** The quirks of the channel that a stream comes from. */
const QUIRKS: Record<string, QuirksInput> = { 'chat-think-tags': { thinkTags: true } };

const fixture = (name: string, bytes: Buffer): StreamFixture => ({
  name,
  upstream: upstreamOf(name),
  bytes,
  quirks: QUIRKS[name] ?? {},
});

/** Every stream that is recorded: those that the simulator plays too, and those that only matter here. */
export const streamFixtures = (): StreamFixture[] => [
  ...recordedStreamNames().map((name) => fixture(name, recordedStream(name))),
  ...readdirSync(FOLDER)
    .sort()
    .map((file) => fixture(file.replace(/\.sse$/, ''), readFileSync(new URL(file, FOLDER)))),
];

/** A request that wants to see everything that a stream can show. */
const REQUESTS: Record<TextProtocol, object> = {
  responses: {
    model: 'callers-model',
    input: 'Hello',
    stream: true,
    include: ['reasoning.encrypted_content', 'web_search_call.action.sources'],
  },
  messages: {
    model: 'callers-model',
    max_tokens: 1000,
    stream: true,
    messages: [{ role: 'user', content: 'Hello' }],
  },
  chat: {
    model: 'callers-model',
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'user', content: 'Hello' }],
  },
  gemini: {
    model: 'callers-model',
    stream: true,
    contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
    generationConfig: { thinkingConfig: { includeThoughts: true } },
  },
};

export const planFor = (
  caller: TextProtocol,
  upstream: ConversationProtocol,
  { quirks = {}, request = {} }: { quirks?: QuirksInput; request?: object } = {},
): AnswerPlan =>
  translateRequest({
    caller,
    body: { ...REQUESTS[caller], ...request },
    target: testTarget(upstream, quirks),
    tokens: testTokens,
  }).plan;

/** The frames of a whole stream. */
export function framesOf(stream: Buffer | string): Frame[] {
  const reader = createFrameReader({ maxFrameBytes: 1 << 26 });
  const frames = [...reader.push(Buffer.from(stream))];
  const last = reader.end();
  return last === null ? frames : [...frames, last];
}

/** The data of its events. */
export const dataOf = (stream: Buffer | string): string[] =>
  framesOf(stream).flatMap(({ data }) => (data === null ? [] : [data]));

const DELTA = /"(?:delta|content|text)":("(?:[^"\\]|\\.)*")/g;

/** All text deltas of a stream of any text protocol, joined; whole texts that come after them too. */
export const deltaText = (sse: string): string =>
  [...sse.matchAll(DELTA)].map(([, text]) => JSON.parse(text ?? '""')).join('');
