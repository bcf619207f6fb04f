import { openJobStores } from '@gateway/jobs/files/job-stores';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expandEvent } from '../../stream/job-events.ts';
import { pngBytes } from '../../testing/image-files.ts';
import { createImageCollector } from './image-collector.ts';

/** What a job stores and emits of a stream of images, and what its caller gets of that. */

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let assets: Awaited<ReturnType<typeof openJobStores>>['assets'];
beforeAll(async () => {
  folder = await temporaryFolder();
  ({ assets } = await openJobStores({ dataDir: folder.path }));
});
afterAll(() => folder.close());

const PNG = pngBytes().toString('base64');
const head = { channel: 'one' };
const end = {
  ...{ channel: 'one', upstreamAttempts: 1, dropped: [], costMicroUsd: null, nowMs: 1000 },
  responseFormat: 'b64_json',
} as const;

function collect(options: { readonly maxBytes?: number } = {}) {
  const texts: string[] = [];
  const emit = async (...emitted: string[]) => void texts.push(...emitted);
  const collector = createImageCollector({ assets, jobId: 'job_x', emit, head, ...options });
  const data = async () => {
    const events: string[] = [];
    for (const text of texts.slice(1)) {
      let event = '';
      for await (const piece of expandEvent({ assets })(text)) event += piece;
      events.push(event);
    }
    return events;
  };
  return { collector, texts, data };
}

const EVENTS = [
  `{"type":"image_generation.partial_image", "b64_json" : "${PNG}","partial_image_index":0,"cost":1.0}`,
  `{"b64_json":"AAAA","type":"image_generation.partial_image","id":9007199254740993}`,
  '{"type":"image_generation.in_progress","assetId":"job_other-0.png","head":"","tail":""}',
  `{"prompt":"say \\"b64_json\\":\\"x\\"","type":"image_generation.completed","b64_json":"${PNG}"}`,
];

test('a caller gets the data of every event as it came, and who answers before that', async () => {
  const { collector, texts, data } = collect();
  for (const event of EVENTS) collector.take(event);
  await collector.stored();
  expect(texts[0]).toBe('{"channel":"one"}');
  expect(await data()).toEqual(EVENTS.map((event) => `event: ${JSON.parse(event).type}\ndata: ${event}\n`));
  expect(texts.every((text) => text.length < 500)).toBe(true);
  expect(await collector.finish(end)).toMatchObject({
    images: [{ contentType: 'image/png' }],
    partialImages: [{}, {}],
  });
});

test('members that are too long for Redis are left out, the image is not', async () => {
  const { collector, data } = collect();
  const members = { type: 'image_generation.completed', note: 'x'.repeat(100_000) };
  collector.take(JSON.stringify({ ...members, b64_json: PNG }));
  collector.take(JSON.stringify(members));
  await collector.stored();
  const { type } = members;
  expect(await data()).toEqual([`event: ${type}\ndata: {"type":"${type}","b64_json":"${PNG}"}\n`]);
});

test('a type that is no name cannot break out of its line', async () => {
  const { collector, data } = collect();
  const event = JSON.stringify({ type: 'x\n\ndata: y.completed', b64_json: PNG });
  collector.take(event);
  await collector.stored();
  expect(await data()).toEqual([`event: message\ndata: ${event}\n`]);
});

test('images beyond what a reply may have end the stream, which is not repeated', async () => {
  const { collector } = collect({ maxBytes: 10 });
  collector.take(`{"type":"image_generation.completed","b64_json":"${PNG}"}`);
  await expect(collector.stored()).rejects.toMatchObject({ code: 'upstream_failed', retry: false });
});

test('events of an earlier version are still sent', async () => {
  const { id } = await assets.put('job_y-0.png', pngBytes());
  const type = 'image_generation.completed';
  const text = `event: ${type}\ndata: ${JSON.stringify({ type, members: { size: 'a' }, assetId: id })}\n\n`;
  let event = '';
  for await (const piece of expandEvent({ assets })(text)) event += piece;
  expect(event).toBe(`event: ${type}\ndata: {"type":"${type}","size":"a","b64_json":"${PNG}"}\n`);
});
