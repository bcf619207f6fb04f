import { GatewayError } from '@gateway/contracts/gateway-error';
import { generation } from '@gateway/jobs/fixtures/job-stage';
import { waitFor } from '@gateway/testkit/wait-for';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type Answer,
  type ReceivedWebhook,
  startReceiver,
  startWebhooks,
} from '../testing/start-webhooks.ts';

type Stage = Awaited<ReturnType<typeof startWebhooks>>;
type Receiver = Awaited<ReturnType<typeof startReceiver>>;

let stage: Stage;
const receivers: Receiver[] = [];
beforeEach(async () => {
  stage = await startWebhooks();
});
afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.close();
  await stage.close();
});

const receiver = async (...answers: Answer[]): Promise<Receiver> => {
  const started = await startReceiver(...answers);
  receivers.push(started);
  return started;
};

const answer =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(status, headers).end('ok');
const hang: Answer = () => undefined;
const breakOff: Answer = (response) => response.destroy();
const endless: Answer = (response) => {
  response.writeHead(200);
  const write = () => {
    while (!response.destroyed && response.write('x'.repeat(16_384)));
  };
  response.on('drain', write);
  write();
};

const enqueue = (keyId: string, owner: { webhook?: string; isDetached?: boolean } = {}) =>
  stage.queue.enqueue('image.generation', generation, {
    keyId,
    requestId: 'req_1',
    isDetached: true,
    ...owner,
  });

const idFor = (jobId: string) => jobId.replace('job_', 'msg_');
const shown = (jobId: string) => stage.log.get(idFor(jobId));
const ended = (jobId: string, status: 'delivered' | 'failed') =>
  waitFor(async () => {
    const webhook = await shown(jobId);
    return webhook?.status === status && webhook;
  });

const headersOf = ({ headers }: ReceivedWebhook) => ({
  'webhook-id': String(headers['webhook-id']),
  'webhook-timestamp': String(headers['webhook-timestamp']),
  'webhook-signature': String(headers['webhook-signature']),
});
const verified = (secret: string, received: ReceivedWebhook | undefined) => {
  if (received === undefined) throw new Error('nothing was received');
  return new Webhook(secret).verify(received.body, headersOf(received));
};

test("a detached job's end is sent to its key's receiver, signed as Standard Webhooks has it", async () => {
  const { url, received } = await receiver(answer(204));
  const { keyId, secret } = await stage.makeKey(url);
  await stage.startJobs();
  await stage.startSending();
  const { id } = await enqueue(keyId);
  await ended(id, 'delivered');
  expect(received).toHaveLength(1);
  expect(verified(secret, received[0])).toMatchObject({
    type: 'job.completed',
    timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
    data: { id, object: 'job', status: 'completed', kind: 'image.generation', error: null },
  });
  expect(headersOf(received[0] ?? { headers: {}, body: '' })['webhook-id']).toBe(idFor(id));
});

test('the receiver that a request names comes before that of its key', async () => {
  const ofKey = await receiver(answer(200));
  const ofRequest = await receiver(answer(200));
  const { keyId, secret } = await stage.makeKey(ofKey.url);
  await stage.startJobs();
  await stage.startSending();
  const { id } = await enqueue(keyId, { webhook: `${ofRequest.url}?token=hidden` });
  expect(await ended(id, 'delivered')).toMatchObject({ url: `${ofRequest.url}?…` });
  expect(verified(secret, ofRequest.received[0])).toMatchObject({ data: { id } });
  expect(ofKey.received).toEqual([]);
});

test('the end of a job whose caller waits is not sent', async () => {
  const { url, received } = await receiver(answer(200));
  const { keyId } = await stage.makeKey(url);
  await stage.startJobs();
  await stage.startSending();
  const waited = await enqueue(keyId, { isDetached: false });
  await waited.result(new AbortController().signal);
  const { id } = await enqueue(keyId);
  await ended(id, 'delivered');
  expect(received).toHaveLength(1);
  expect(await shown(waited.id)).toBeUndefined();
});

test('failed and cancelled jobs are announced as well', async () => {
  const { url, received } = await receiver(answer(200));
  const { keyId, secret } = await stage.makeKey(url);
  await stage.startSending();
  const cancelled = await enqueue(keyId);
  await cancelled.cancel();
  await ended(cancelled.id, 'delivered');
  await stage.startJobs(async () => {
    throw new GatewayError('invalid_value', { message: `no ${'x'.repeat(5000)}` });
  });
  const failed = await enqueue(keyId);
  await ended(failed.id, 'delivered');
  expect(verified(secret, received[0])).toMatchObject({
    type: 'job.cancelled',
    data: { id: cancelled.id, status: 'cancelled' },
  });
  expect(verified(secret, received[1])).toMatchObject({
    type: 'job.failed',
    data: { id: failed.id, error: { code: 'invalid_value' } },
  });
  expect(received[1]?.body.length).toBeLessThan(2500);
});

test('a receiver that fails, hangs, breaks off, redirects and recovers gets the same webhook until it takes it', async () => {
  const other = await receiver(answer(200));
  const { url, received } = await receiver(
    answer(500),
    hang,
    breakOff,
    answer(302, { location: other.url }),
    answer(307, { location: other.url }),
    answer(200),
  );
  const { keyId, secret } = await stage.makeKey(url);
  await stage.startJobs();
  await stage.startSending({ timeLimitMs: 300 });
  const { id } = await enqueue(keyId);
  const { attempts } = await ended(id, 'delivered');
  expect(attempts).toMatchObject([
    { status: 500, error: 'answered 500' },
    { status: null, error: 'no whole answer within 300 ms' },
    { status: null, error: expect.stringContaining('the connection failed') },
    { status: 302, error: expect.stringContaining('redirects are not followed') },
    { status: 307, error: expect.stringContaining('redirects are not followed') },
    { status: 200, error: null },
  ]);
  expect(other.received).toEqual([]);
  expect(new Set(received.map(({ body }) => body)).size).toBe(1);
  expect(new Set(received.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([idFor(id)]));
  for (const webhook of received) verified(secret, webhook);
});

test('a receiver that never takes it is given up, listed, and can be replayed under the same id', async () => {
  const answers = [...Array.from({ length: 10 }, () => answer(503)), answer(200)];
  const { url, received } = await receiver(...answers);
  const { keyId } = await stage.makeKey(url);
  await stage.startJobs();
  await stage.startSending();
  const { id } = await enqueue(keyId);
  const failed = await ended(id, 'failed');
  expect(failed.attempts).toHaveLength(10);
  expect(failed.nextAttemptAt).toBeNull();
  const list = { keyId: undefined, status: undefined, limit: 10, after: undefined };
  expect((await stage.log.list({ ...list, status: 'failed' }))?.webhooks).toMatchObject([{ jobId: id }]);
  await stage.log.replay(idFor(id));
  await ended(id, 'delivered');
  expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  expect(received).toHaveLength(11);
  // What was delivered can be sent again too.
  await stage.log.replay(idFor(id));
  await waitFor(() => received.length === 12);
});

test('a receiver that answers 410 is not called again', async () => {
  const { url, received } = await receiver(answer(410));
  const { keyId } = await stage.makeKey(url);
  await stage.startJobs();
  await stage.startSending();
  const { id } = await enqueue(keyId);
  await ended(id, 'failed');
  expect(received).toHaveLength(1);
});

test('one that waits for its next attempt shows when, and a replay sends it at once', async () => {
  const { url, received } = await receiver(answer(500), answer(200));
  const { keyId } = await stage.makeKey(url);
  await stage.startJobs();
  await stage.startSending({ retryDelaysMs: [3_600_000] });
  const { id } = await enqueue(keyId);
  const waiting = await waitFor(async () => {
    const webhook = await shown(id);
    return webhook !== undefined && webhook.nextAttemptAt !== null && webhook;
  });
  expect(Date.parse(waiting.nextAttemptAt ?? '')).toBeGreaterThan(Date.now() + 3_000_000);
  await stage.log.replay(idFor(id));
  await ended(id, 'delivered');
  expect(received).toHaveLength(2);
});

test('during the grace of a rotation both secrets verify, and afterwards the new one', async () => {
  const { url, received } = await receiver(answer(200));
  const { keyId, secret: old } = await stage.makeKey(url);
  const rotated = await stage.rotate(keyId, 3600);
  await stage.startJobs();
  await stage.startSending();
  const first = await enqueue(keyId);
  await ended(first.id, 'delivered');
  for (const secret of [old, rotated?.secret ?? '']) verified(secret, received[0]);
  const last = await stage.rotate(keyId, 0);
  const second = await enqueue(keyId);
  await ended(second.id, 'delivered');
  verified(last?.secret ?? '', received[1]);
  expect(() => verified(rotated?.secret ?? '', received[1])).toThrow('No matching signature');
});

/** Ways to name this machine, or a private one. */
const REFUSED = [
  'http://127.0.0.1:PORT/',
  'https://127.0.0.1:PORT/',
  'http://localhost:PORT/',
  'https://localhost:PORT/',
  'http://[::1]:PORT/',
  'https://[::ffff:127.0.0.1]:PORT/',
  'http://2130706433:PORT/',
  'http://0:PORT/',
  'https://169.254.169.254/latest/meta-data/',
  'https://10.255.255.1/',
];

test.for(REFUSED)('%s is not connected to unless its network is configured', async (pattern) => {
  const { port, received } = await receiver(answer(200));
  const { keyId } = await stage.makeKey();
  await stage.startJobs();
  await stage.startSending({ networks: null });
  const { id } = await enqueue(keyId, { webhook: pattern.replace('PORT', String(port)) });
  const { attempts } = await ended(id, 'failed');
  expect(attempts).toHaveLength(1);
  expect(attempts[0]?.error).toContain('an address that webhooks may not be sent to');
  expect(received).toEqual([]);
});

test('plain http goes to configured networks only', async () => {
  const { keyId } = await stage.makeKey();
  await stage.startJobs();
  await stage.startSending();
  const { id } = await enqueue(keyId, { webhook: 'http://8.8.8.8/hook' });
  const { attempts } = await ended(id, 'failed');
  expect(attempts[0]?.error).toBe('an address that webhooks may not be sent to over plain http');
});

test('an answer without end is cut off, and its status counts', async () => {
  const { url } = await receiver(endless);
  const { keyId } = await stage.makeKey(url);
  await stage.startJobs();
  await stage.startSending();
  const { id } = await enqueue(keyId);
  expect((await ended(id, 'delivered')).attempts).toMatchObject([{ status: 200 }]);
});

test("a receiver that hangs does not hold up another key's webhooks", async () => {
  const hanging = await receiver(hang);
  const { url } = await receiver(answer(200));
  const slow = await stage.makeKey(hanging.url);
  const quick = await stage.makeKey(url);
  await stage.startJobs();
  await stage.startSending();
  for (let count = 0; count < 20; count += 1) await enqueue(slow.keyId);
  await waitFor(() => hanging.received.length === 4);
  const { id } = await enqueue(quick.keyId);
  await ended(id, 'delivered');
  expect(hanging.received).toHaveLength(4);
});

test('neither Redis nor what is logged holds a secret or the query of a URL', async () => {
  const { url } = await receiver(answer(500), answer(200));
  const { keyId, secret } = await stage.makeKey(`${url}?token=hidden`);
  await stage.startJobs();
  await stage.startSending();
  const { id } = await enqueue(keyId);
  const webhook = await ended(id, 'delivered');
  expect(
    JSON.stringify([webhook, stage.attempts.map(({ outcome: { url: _, ...outcome } }) => outcome)]),
  ).not.toMatch(/hidden|whsec_/);
  const bare = secret.replace('whsec_', '');
  for (const name of await stage.redis.keys('*')) {
    const dump = (await stage.redis.dumpBuffer(name))?.toString('latin1') ?? '';
    expect(dump).not.toContain(bare);
  }
});

test('a job whose end is announced twice has one webhook', async () => {
  const { url, received } = await receiver(answer(200));
  const { keyId } = await stage.makeKey(url);
  const notice = {
    id: `msg_${'a'.repeat(32)}`,
    jobId: `job_${'a'.repeat(32)}`,
    keyId,
    requestId: 'req_1',
    url: null,
  };
  await stage.log.add(notice, '{"first":true}');
  await stage.log.add(notice, '{"first":false}');
  await stage.startSending();
  await ended(notice.jobId, 'delivered');
  await stage.log.add(notice, '{"first":false}');
  expect(received.map(({ body }) => body)).toEqual(['{"first":true}']);
  const { webhooks } = (await stage.log.list({ keyId, status: undefined, limit: 9, after: undefined })) ?? {};
  expect(webhooks).toHaveLength(1);
});

test('a page of the log goes on where the one before ended, by key and by status', async () => {
  const { url } = await receiver(answer(200));
  const gone = await receiver(answer(410));
  const [one, other] = [await stage.makeKey(url), await stage.makeKey(gone.url)];
  await stage.startJobs();
  await stage.startSending();
  const ids: string[] = [];
  for (const { keyId } of [one, other, one, one]) {
    const { id } = await enqueue(keyId);
    ids.push(id);
    await waitFor(async () => (await shown(id)) && (await shown(id))?.status !== 'pending');
  }
  const options = { keyId: one.keyId, status: undefined, limit: 2, after: undefined };
  const first = await stage.log.list(options);
  expect(first?.webhooks.map(({ jobId }) => jobId)).toEqual([ids[3], ids[2]]);
  const second = await stage.log.list({ ...options, after: first?.next ?? '' });
  expect(second).toMatchObject({ webhooks: [{ jobId: ids[0] }], next: null });
  const failed = await stage.log.list({ ...options, keyId: undefined, status: 'failed' });
  expect(failed?.webhooks.map(({ jobId }) => jobId)).toEqual([ids[1]]);
  expect(await stage.log.list({ ...options, after: 'msg_unknown' })).toBeUndefined();
});
