import { GatewayError } from '@gateway/contracts/gateway-error';
import { startRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { Queue, Worker } from 'bullmq';
import { expect, test } from 'vitest';
import { openJobStores } from '../files/job-stores.ts';
import { encodeFailure } from '../job-failure.ts';
import { newJobId } from '../redis/job-keys.ts';
import { recordOf } from './job-record.ts';

const ENVELOPE = { keyId: 'key_1', requestId: 'req_1', model: 'm', inputId: 'input_1', uploads: [] };

test('a job that fails while it is looked at is shown with its reason', async () => {
  await using resources = new AsyncDisposableStack();
  const server = resources.adopt(await startRedis(), (owned) => owned.close());
  const folder = resources.adopt(await temporaryFolder(), (owned) => owned.close());
  const files = await openJobStores({ dataDir: folder.path });
  const connection = { host: '127.0.0.1', port: server.port };
  const queue = resources.adopt(new Queue('jobs', { connection }), (owned) => owned.close());
  const id = newJobId();
  await queue.add('text.response', ENVELOPE, { jobId: id });
  const found = await queue.getJob(id);
  if (found === undefined) throw new Error('no job');

  const failed = Promise.withResolvers<void>();
  const fail = async () => {
    throw new Error(encodeFailure(new GatewayError('upstream_failed', { message: 'It failed.' })));
  };
  const worker = resources.adopt(new Worker('jobs', fail, { connection }), (owned) => owned.close());
  worker.on('failed', () => failed.resolve());
  await failed.promise;

  const record = await recordOf(queue, id, found, files);
  expect(record).toMatchObject({
    status: 'failed',
    error: { code: 'upstream_failed' },
    finishedAtMs: expect.any(Number),
  });
});
