import { readdirSync, readFileSync } from 'node:fs';
import { createFrameReader } from '@gateway/contracts/event-stream/frame-reader';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { everyNth } from '@gateway/testkit/is-long-run';
import { expect, test } from 'vitest';
import { translateReply } from '../conversion/translate-reply.ts';
import { translateRequest } from '../conversion/translate-request.ts';
import { StreamTranslator } from '../conversion/translate-stream.ts';
import { testReplyContext, testTarget, testTokens } from '../testing/test-context.ts';
import { CALLERS, planFor, streamFixtures } from '../testing/test-streams.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import { UPSTREAMS } from './protocols.ts';

/** Members that every object inherits: a function, and an object. A table may not take one for a row of its own. */
const NAMES = ['constructor', '__proto__'];

/** What may be looked up in a table: type names, roles, reasons, ids. */
const WORD = /^[\w.-]{1,40}$/;

/** Copies of a value; each one has another word in one position. */
function* withOneWordChanged(value: unknown, name: string): Generator<unknown> {
  if (typeof value === 'string') {
    if (WORD.test(value)) yield name;
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      for (const changed of withOneWordChanged(item, name)) yield value.with(index, changed);
  } else if (typeof value === 'object' && value !== null) {
    for (const [member, inner] of Object.entries(value))
      for (const changed of withOneWordChanged(inner, name)) yield { ...value, [member]: changed };
  }
}

const variants = (value: unknown) => NAMES.flatMap((name) => [...withOneWordChanged(value, name)]);

const readFixtures = (folder: string) =>
  readdirSync(new URL(`./fixtures/${folder}/`, import.meta.url)).map((file) => {
    const name = file.replace(/\.json$/, '');
    const body: unknown = JSON.parse(
      readFileSync(new URL(`./fixtures/${folder}/${file}`, import.meta.url), 'utf8'),
    );
    return { name, protocol: protocolOf(name), body };
  });

const protocolOf = (name: string): TextProtocol => CALLERS.find((each) => name.startsWith(each)) ?? 'chat';

/** Runs; anything that is thrown must be an error for the caller. */
function refusedAtMost(run: () => unknown, shown: unknown): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw new Error(`${error} with ${JSON.stringify(shown)}`);
  }
}

test.for(readFixtures('requests'))(
  'a word that objects inherit is a word like any other in a request: $name',
  ({ protocol, body }) => {
    const bodies = variants(body);
    expect(bodies).not.toEqual([]);
    for (const [at, changed] of bodies.entries())
      for (const target of everyNth(CALLERS, CALLERS.length, at))
        refusedAtMost(
          () =>
            translateRequest({
              caller: protocol,
              body: changed,
              target: testTarget(target),
              tokens: testTokens,
            }),
          changed,
        );
  },
);

test.for(readFixtures('replies'))(
  'a word that objects inherit is a word like any other in a reply: $name',
  ({ protocol, body }) => {
    for (const [at, changed] of variants(body).entries())
      for (const caller of everyNth(CALLERS, CALLERS.length, at))
        refusedAtMost(() => translateReply(planFor(caller, protocol), changed, testReplyContext()), changed);
  },
);

/** The stream with one word of one event changed; every kind of event once. */
function* streamVariants(stream: string): Generator<readonly string[]> {
  const events = stream
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => line.slice('data: '.length));
  const seen = new Set<string>();
  for (const [index, data] of events.entries()) {
    const event: unknown = JSON.parse(data);
    const kind = data.replace(/"(?:[^"\\]|\\.)*"(?!:)|\d+/g, '');
    if (seen.has(kind)) continue;
    seen.add(kind);
    for (const changed of variants(event)) yield events.with(index, JSON.stringify(changed));
  }
}

test.for(streamFixtures().filter(({ name }) => name !== 'chat-not-json'))(
  'a word that objects inherit is a word like any other in an event of a stream: $name',
  ({ upstream, quirks, bytes }) => {
    for (const [at, events] of [...streamVariants(bytes.toString())].entries()) {
      const reader = UPSTREAMS[upstream].createUsageReader();
      const frames = createFrameReader({ maxFrameBytes: 1_000_000 });
      const stream = Buffer.from(events.map((data) => `data: ${data}\n\n`).join(''));
      for (const frame of frames.push(stream)) reader.frame(frame);
      for (const caller of everyNth(CALLERS, CALLERS.length, at)) {
        const translator = new StreamTranslator(planFor(caller, upstream, { quirks }), testReplyContext());
        for (const data of events) translator.push(Buffer.from(`data: ${data}\n\n`));
        translator.end();
        expect(String(translator.failure?.options.cause ?? ''), events.join('\n')).not.toContain('TypeError');
      }
    }
  },
);
