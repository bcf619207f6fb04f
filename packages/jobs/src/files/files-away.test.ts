import { writeFile } from 'node:fs/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { edit, images, type JobStage, openJobStage, owner, staying } from '../fixtures/job-stage.ts';
import { createJobWorker, type JobWorker } from '../worker/job-worker.ts';
import type { UploadStore } from './upload-store.ts';

/** The store of the jobs' files is away for a moment, at every point where a worker needs it before the work begins. */

let stage: JobStage;
let worker: JobWorker;
beforeAll(async () => {
  stage = await openJobStage();
});
afterEach(async () => {
  await worker.close({ drainTimeoutMs: 0 });
  await stage.clear();
});
afterAll(() => stage.close());

/** The first call finds the store away. */
function atSecondTry<Arguments extends unknown[], Answer>(
  call: (...given: Arguments) => Promise<Answer>,
): (...given: Arguments) => Promise<Answer> {
  let calls = 0;
  return async (...given) => {
    calls += 1;
    if (calls === 1) throw new GatewayError('service_unavailable', 'The file store cannot be reached.');
    return call(...given);
  };
}

const FIRST: Readonly<Record<string, (uploads: UploadStore) => UploadStore>> = {
  'its input': (uploads) => ({ ...uploads, readInput: atSecondTry(uploads.readInput) }),
  'its uploads': (uploads) => ({ ...uploads, borrow: atSecondTry(uploads.borrow) }),
  'the note of an earlier begin': (uploads) => ({
    ...uploads,
    notes: { ...uploads.notes, open: atSecondTry(uploads.notes.open) },
  }),
  'the note of its own begin': (uploads) => ({
    ...uploads,
    notes: { ...uploads.notes, putNew: atSecondTry(uploads.notes.putNew) },
  }),
};

test.for(Object.entries(FIRST))(
  'a paid job that cannot read or write %s is tried again and done once',
  async ([, uploadsOf]) => {
    const queue = await stage.openQueue();
    const uploadId = stage.uploads.newId();
    await writeFile(stage.uploads.pathOf(uploadId), 'abc');
    const handle = await queue.enqueue('image.edit', edit(uploadId), owner);
    let runs = 0;
    const run = async () => {
      runs += 1;
      return images;
    };
    worker = await createJobWorker({
      redisUrl: stage.redis.url,
      processors: { 'image.edit': { run }, 'image.generation': { run } },
      concurrency: 1,
      uploads: uploadsOf(stage.uploads),
      assets: stage.assets,
      onFinished: () => undefined,
      onError: () => undefined,
    });
    expect(await handle.result(staying)).toEqual(images);
    expect(runs).toBe(1);
  },
);
