import { expect, test } from 'vitest';
import { LogRecord } from './request-line.ts';
import { createRequestMerger } from './request-merger.ts';

function merger() {
  const emitted: LogRecord[] = [];
  const waiting: { readonly callback: () => void; readonly delayMs: number }[] = [];
  const created = createRequestMerger({
    onRequest: (record) => emitted.push(record),
    schedule: (callback, delayMs) => waiting.push({ callback, delayMs }),
  });
  /** Advances the timers by this time. */
  const pass = (ms: number) => {
    for (const { callback, delayMs } of waiting) if (delayMs <= ms) callback();
  };
  return {
    emitted,
    pass,
    flush: created.flush,
    add: (members: object) => created.add(LogRecord.parse(members)),
  };
}

const edge = (members: object = {}) => ({
  ...{
    level: 30,
    service: 'edge',
    method: 'POST',
    path: '/v1/x',
    requestId: 'req_1',
    status: 200,
    durationMs: 20,
  },
  ...{ forwardedTo: 'image', ...members },
});
const service = (members: object = {}) => ({
  ...{
    level: 30,
    service: 'image',
    method: 'POST',
    path: '/v1/x',
    requestId: 'req_1',
    status: 200,
    durationMs: 15,
  },
  ...{ model: 'm', jobId: 'job_1', ...members },
});
const job = (members: object = {}) => ({
  ...{
    level: 30,
    service: 'image-worker',
    kind: 'image.edit',
    requestId: 'req_1',
    jobId: 'job_1',
    durationMs: 10,
  },
  ...{ channel: 'c', costMicroUsd: 5, outcome: 'completed', ...members },
});

test.for([
  ['in the order of the work', [job(), service(), edge()]],
  ['in the order of their batches', [edge(), service(), job()]],
  ['in any order', [service(), edge(), job()]],
] as const)('the lines of one request become one, %s', ([, lines]) => {
  const { emitted, add, pass } = merger();
  for (const line of lines) {
    expect(emitted).toEqual([]);
    add(line);
  }
  expect(emitted).toEqual([
    expect.objectContaining({ service: 'edge', model: 'm', channel: 'c', costMicroUsd: 5, durationMs: 20 }),
  ]);
  pass(60_000);
  expect(emitted).toHaveLength(1);
});

test('the wait for a line that does not come ends', () => {
  const { emitted, add, pass } = merger();
  add(edge());
  pass(1_000);
  expect(emitted).toEqual([]);
  pass(3_000);
  expect(emitted).toMatchObject([{ requestId: 'req_1' }]);
});

test('a request that the edge answers itself is printed at once', () => {
  const { emitted, add } = merger();
  add(edge({ status: 401, forwardedTo: undefined }));
  expect(emitted).toMatchObject([{ status: 401 }]);
});

test('where the edge and the service are one process, only a job that its caller waits for has another line', () => {
  const { emitted, add } = merger();
  const inOneProcess = { forwardedTo: undefined, jobId: 'job_1', model: 'm' };
  add(edge({ ...inOneProcess, status: 202 }));
  expect(emitted).toMatchObject([{ status: 202, model: 'm' }]);
  add(edge({ ...inOneProcess, requestId: 'req_2' }));
  expect(emitted).toHaveLength(1);
  add(job({ requestId: 'req_2' }));
  expect(emitted).toMatchObject([{ status: 202 }, { service: 'edge', requestId: 'req_2', costMicroUsd: 5 }]);
});

test('a request over a WebSocket is printed when it ends', () => {
  const { emitted, add } = merger();
  add(service({ transport: 'websocket' }));
  expect(emitted).toHaveLength(1);
});

test('a job that ends after its caller was answered is printed when it ends', () => {
  const { emitted, add } = merger();
  add(service({ status: 202 }));
  add(edge({ status: 202 }));
  add(job());
  expect(emitted).toMatchObject([{ status: 202 }, { kind: 'image.edit', outcome: 'completed' }]);
});

test('the worst level counts, and a failure of the service is not hidden by the edge', () => {
  const { emitted, add, flush } = merger();
  add(service({ level: 50, 'error.code': 'internal', outcome: 'failed' }));
  add(edge({ outcome: 'ok' }));
  flush();
  expect(emitted).toMatchObject([{ level: 50, 'error.code': 'internal', outcome: 'failed', status: 200 }]);
});

test('an id that a caller uses again is another request', () => {
  const { emitted, add, flush } = merger();
  add(service({ model: 'first' }));
  add(edge());
  add(service({ model: 'second' }));
  add(edge());
  flush();
  expect(emitted.map(({ model }) => model)).toEqual(['first', 'second']);
});

test('a request without a line of the edge is printed in the end, and a line of the admin service at once', () => {
  const { emitted, add, pass } = merger();
  add(service());
  pass(3_000);
  expect(emitted).toEqual([]);
  pass(60_000);
  add(service({ service: 'admin', requestId: 'req_2', jobId: undefined }));
  expect(emitted.map((record) => record.service)).toEqual(['image', 'admin']);
});

test('the lines held back are bounded', () => {
  const { emitted, add } = merger();
  for (let index = 0; index < 2_010; index++) add(service({ requestId: `req_${index}` }));
  expect(emitted).toHaveLength(10);
});
