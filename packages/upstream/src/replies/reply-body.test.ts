import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ReplyBody } from './reply-body.ts';

test('a provider that sends nothing when resumed does not put a pulling reader into an endless loop', async () => {
  let resumed = 0;
  const body: ReplyBody = new ReplyBody({
    pause: () => undefined,
    // As undici does when its socket has nothing to read yet.
    resume: () => {
      resumed += 1;
      body.push(Buffer.alloc(0));
    },
  });
  const chunks: string[] = [];
  body.consume({
    onChunk: (chunk) => {
      chunks.push(chunk.toString());
      if (chunks.length < 100) queueMicrotask(() => body.resume());
      return false;
    },
    onEnd: () => chunks.push('end'),
    onError: () => chunks.push('error'),
  });
  body.push(Buffer.from('first'));
  await setImmediate();
  body.push(Buffer.from('second'));
  await setImmediate();
  body.end();
  expect(chunks).toEqual(['first', 'second', 'end']);
  expect(resumed).toBeLessThan(10);
});
