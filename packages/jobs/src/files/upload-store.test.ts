import { readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openS3Stores } from '@gateway/assets/s3-store';
import { startS3, type TestS3 } from '@gateway/testkit/start-s3';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openJobStores } from './job-stores.ts';
import { openUploadStore, type UploadStore } from './upload-store.ts';

let s3: TestS3;
beforeAll(async () => {
  s3 = await startS3();
});
afterAll(() => s3.close());

interface Machines extends AsyncDisposable {
  readonly service: UploadStore;
  readonly worker: UploadStore;
}

async function oneFolder(): Promise<Machines> {
  const folder = await temporaryFolder();
  const [service, worker] = await Promise.all(
    ['service', 'worker'].map((machine) =>
      openJobStores({ dataDir: join(folder.path, machine), url: join(folder.path, 'shared') }),
    ),
  );
  if (service === undefined || worker === undefined) throw new Error('not opened');
  return { service: service.uploads, worker: worker.uploads, [Symbol.asyncDispose]: () => folder.close() };
}

let buckets = 0;
async function oneBucket(): Promise<Machines> {
  buckets += 1;
  const folder = await temporaryFolder();
  const stores = await openS3Stores({ ...s3, prefix: `machines${buckets}` });
  return {
    service: await openUploadStore(stores, join(folder.path, 'service')),
    worker: await openUploadStore(stores, join(folder.path, 'worker')),
    [Symbol.asyncDispose]: async () => {
      stores.close();
      await folder.close();
    },
  };
}

describe.each([
  ['a shared folder', oneFolder],
  ['an S3 store', oneBucket],
])('machines with %s', (_name, open) => {
  let machines: Machines;
  beforeEach(async () => {
    machines = await open();
    return () => machines[Symbol.asyncDispose]();
  });
  const arrived = async (content = 'abc') => {
    const id = machines.service.newId();
    await writeFile(machines.service.pathOf(id), content);
    return id;
  };

  test('a file that arrived at a service is read by a worker while it has borrowed it', async () => {
    const { service, worker } = machines;
    const [first, second] = [await arrived(), await arrived('x'.repeat(100_000))];
    await service.share([first, second]);
    {
      await using _borrowed = await worker.borrow([first, second]);
      expect(await readFile(worker.pathOf(first), 'utf8')).toBe('abc');
      expect((await readFile(worker.pathOf(second))).length).toBe(100_000);
    }
    await using _again = await worker.borrow([first]);
    expect(await readFile(worker.pathOf(first), 'utf8')).toBe('abc');
  });

  test('what is deleted, by whichever machine, is nowhere any more', async () => {
    const { service, worker } = machines;
    const [shared, unshared, cancelled] = [await arrived(), await arrived(), await arrived()];
    await service.share([shared, cancelled]);
    const input = await service.putInput('{}');
    await (await worker.borrow([shared]))[Symbol.asyncDispose]();
    await worker.delete(shared, input, shared);
    await service.delete(unshared, cancelled);
    expect(await readdir(service.folder)).toEqual([]);
    expect(await readdir(worker.folder)).toEqual([]);
    expect(await worker.readInput(input)).toBeUndefined();
    expect(await service.sweep(Date.now() + 10_000)).toBe(0);
  });

  test('an input is read where it was not written', async () => {
    const { service, worker } = machines;
    expect(await worker.readInput(await service.putInput('{"a":"ä"}'))).toBe('{"a":"ä"}');
  });

  test('what has been forgotten is swept, shared or not', async () => {
    const { service } = machines;
    const [forgotten, fresh, shared] = [await arrived(), await arrived(), await arrived()];
    await utimes(service.pathOf(forgotten), 1000, 1000);
    expect(await service.sweep(2_000_000)).toBe(1);
    await service.share([shared]);
    await service.putInput('{}');
    expect(await service.sweep(Date.now() + 10_000)).toBe(3);
    expect(await readdir(service.folder)).not.toContain(fresh);
  });

  test('no other file can be named', async () => {
    const { service } = machines;
    const input = await service.putInput('{}');
    for (const id of ['../secret', 'upload_1', `${input}x`]) {
      expect(() => service.pathOf(id)).toThrow('not an upload id');
      await expect(service.delete(id)).rejects.toThrow('not an upload id');
      await expect(service.readInput(id)).rejects.toThrow('not an upload id');
    }
    expect(() => service.pathOf(input)).toThrow('not an upload id');
  });
});

test('a file that is not there, or half of several, leaves nothing borrowed', async () => {
  await using machines = await oneBucket();
  const { service, worker } = machines;
  const id = service.newId();
  await writeFile(service.pathOf(id), 'abc');
  await service.share([id]);
  await expect(worker.borrow([id, service.newId()])).rejects.toMatchObject({ code: 'internal' });
  expect(await readdir(worker.folder)).toEqual([]);
});
