import { expect, test } from 'vitest';
import { StreamTranslator } from '../conversion/translate-stream.ts';
import { testReplyContext } from '../testing/test-context.ts';
import { CALLERS, planFor, type StreamFixture, streamFixtures } from '../testing/test-streams.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';

const cases = streamFixtures().flatMap((stream) => CALLERS.map((caller) => ({ ...stream, caller })));

function translate(stream: StreamFixture, caller: TextProtocol, chunks: Iterable<Buffer>): string {
  const plan = planFor(caller, stream.upstream, { quirks: stream.quirks });
  const translator = new StreamTranslator(plan, testReplyContext());
  let frames = '';
  for (const chunk of chunks) frames += translator.push(chunk).join('');
  frames += translator.end().join('');
  if (translator.started) return frames;
  return `(no frame; failed with ${translator.failure?.code}: ${translator.failure?.message})\n`;
}

function* byteByByte(bytes: Buffer): Generator<Buffer> {
  for (let index = 0; index < bytes.length; index++) yield bytes.subarray(index, index + 1);
}

function* atEventBoundaries(bytes: Buffer): Generator<Buffer> {
  let start = 0;
  for (let end = bytes.indexOf('\n\n'); end >= 0; end = bytes.indexOf('\n\n', start)) {
    yield bytes.subarray(start, end + 2);
    start = end + 2;
  }
  yield bytes.subarray(start);
}

test.for(cases)('$name is streamed to a caller of $caller as recorded', async ({ caller, ...stream }) => {
  const whole = translate(stream, caller, [stream.bytes]);
  await expect(whole).toMatchFileSnapshot(`golden/streams/${stream.name}.to-${caller}.sse`);
});

test.for(cases)('$name reaches a caller of $caller the same however it is cut', ({ caller, ...stream }) => {
  const whole = translate(stream, caller, [stream.bytes]);
  expect(translate(stream, caller, byteByByte(stream.bytes))).toBe(whole);
  expect(translate(stream, caller, atEventBoundaries(stream.bytes))).toBe(whole);
});

/** Whatever a fixture was recorded of: what names its model is in each protocol at the place that its own clients read. */
const NAMED = /"(?:model|modelVersion)":\s?"(.+?)"/;

test.for(streamFixtures())('the model that $name names is known, at whatever caller', (stream) => {
  for (const caller of CALLERS) {
    const plan = planFor(caller, stream.upstream, { quirks: stream.quirks });
    const translator = new StreamTranslator(plan, testReplyContext());
    translator.push(stream.bytes);
    expect(translator.model).toBe(NAMED.exec(String(stream.bytes))?.[1] ?? null);
  }
});
