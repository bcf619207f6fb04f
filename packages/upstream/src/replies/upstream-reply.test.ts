import { expect, test } from 'vitest';
import { startProvider, startUpstream } from '../provider-for-tests.ts';
import type { Reply } from './reply.ts';

const replyOf = async (body: (write: (text: string) => boolean, end: () => void) => void): Promise<Reply> => {
  const provider = await startProvider((response) => {
    response.writeHead(200);
    body(
      (text) => response.write(text),
      () => response.end(),
    );
  });
  const upstream = await startUpstream({ one: { origin: provider.origin } });
  const model = upstream.resolveModel('small');
  if (model === null) throw new Error('no model');
  return upstream.send({
    candidates: upstream.candidates({ model, protocol: 'responses' }),
    request: () => ({ operation: 'responses', method: 'POST', headers: {}, body: '{}' }),
    dialect: 'openai',
    work: 'free',
    streamed: true,
  });
};

const MEGABYTE = 'x'.repeat(1024 * 1024);

test('the chunks of a body come in order and once, pushed or pulled', async () => {
  const pieces = Array.from({ length: 200 }, (_, index) => `${index},`);
  for (const way of ['pulled', 'pushed', 'pushed with pauses', 'whole'] as const) {
    const reply = await replyOf((write, end) => {
      let next = 0;
      const more = (): void => {
        write(pieces[next] ?? '');
        next += 1;
        if (next < pieces.length) setImmediate(more);
        else end();
      };
      more();
    });
    let text = '';
    if (way === 'pulled') for await (const chunk of reply.body) text += chunk.toString();
    else if (way === 'whole') text = (await reply.bytes(100_000)).toString();
    else {
      await new Promise<void>((resolve, reject) =>
        reply.consume({
          onChunk: (chunk) => {
            text += chunk.toString();
            if (way === 'pushed') return true;
            setImmediate(() => reply.resume());
            return false;
          },
          onEnd: resolve,
          onError: reject,
        }),
      );
    }
    expect(text, way).toBe(pieces.join(''));
  }
});

test('a reader who pauses slows the provider down', async () => {
  const full = Promise.withResolvers<void>();
  let written = 0;
  const reply = await replyOf((write, end) => {
    const more = (): void => {
      while (written < 64) {
        written += 1;
        if (!write(MEGABYTE)) {
          full.resolve();
          return;
        }
      }
      end();
    };
    more();
  });
  let sizeBytes = 0;
  reply.consume({
    onChunk: (chunk) => {
      sizeBytes += chunk.length;
      return false;
    },
    onEnd: () => undefined,
    onError: () => undefined,
  });
  await full.promise;
  expect(sizeBytes).toBeLessThan(1024 * 1024);
  reply.cancel();
});

test('a body over the size limit is aborted', async () => {
  const reply = await replyOf((write) => write(MEGABYTE));
  await expect(reply.bytes(1000)).rejects.toMatchObject({ code: 'upstream_failed', retry: false });
});

test('a body can be consumed once only', async () => {
  const reply = await replyOf((_, end) => end());
  await reply.bytes(10);
  await expect(reply.bytes(10)).rejects.toThrow('once');
});
