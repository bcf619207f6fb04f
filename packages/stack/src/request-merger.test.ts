import { expect, test } from 'vitest';
import { LogRecord } from './request-line.ts';
import { createRequestMerger } from './request-merger.ts';

function merger() {
  const told: LogRecord[] = [];
  const waiting: { readonly callback: () => void; readonly delayMs: number }[] = [];
  const created = createRequestMerger({
    onRequest: (record) => told.push(record),
    schedule: (callback, delayMs) => waiting.push({ callback, delayMs }),
  });
  /** Lets this much time pass, as far as waiting is concerned. */
  const pass = (ms: number) => {
    for (const { callback, delayMs } of waiting) if (delayMs <= ms) callback();
  };
  return {
    told,
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
  const { told, add, pass } = merger();
  for (const line of lines) {
    expect(told).toEqual([]);
    add(line);
  }
  expect(told).toEqual([
    expect.objectContaining({ service: 'edge', model: 'm', channel: 'c', costMicroUsd: 5, durationMs: 20 }),
  ]);
  pass(60_000);
  expect(told).toHaveLength(1);
});

test('a line that does not come is not waited for without end', () => {
  const { told, add, pass } = merger();
  add(edge());
  pass(1_000);
  expect(told).toEqual([]);
  pass(3_000);
  expect(told).toMatchObject([{ requestId: 'req_1' }]);
});

test('what the edge answers itself is told at once', () => {
  const { told, add } = merger();
  add(edge({ status: 401, forwardedTo: undefined }));
  expect(told).toMatchObject([{ status: 401 }]);
});

test('a job that ends after its caller was answered is told of when it ends', () => {
  const { told, add } = merger();
  add(service({ status: 202 }));
  add(edge({ status: 202 }));
  add(job());
  expect(told).toMatchObject([{ status: 202 }, { kind: 'image.edit', outcome: 'completed' }]);
});

test('the worst level counts, and a failure of the service is not hidden by the edge', () => {
  const { told, add, flush } = merger();
  add(service({ level: 50, 'error.code': 'internal', outcome: 'failed' }));
  add(edge({ outcome: 'ok' }));
  flush();
  expect(told).toMatchObject([{ level: 50, 'error.code': 'internal', outcome: 'failed', status: 200 }]);
});

test('an id that a caller uses again is another request', () => {
  const { told, add, flush } = merger();
  add(service({ model: 'first' }));
  add(edge());
  add(service({ model: 'second' }));
  add(edge());
  flush();
  expect(told.map(({ model }) => model)).toEqual(['first', 'second']);
});

test('a request whose edge says nothing is told in the end, and the admin service is alone', () => {
  const { told, add, pass } = merger();
  add(service());
  pass(3_000);
  expect(told).toEqual([]);
  pass(60_000);
  add(service({ service: 'admin', requestId: 'req_2', jobId: undefined }));
  expect(told.map((record) => record.service)).toEqual(['image', 'admin']);
});

test('what is held is bounded', () => {
  const { told, add } = merger();
  for (let index = 0; index < 2_010; index++) add(service({ requestId: `req_${index}` }));
  expect(told).toHaveLength(10);
});
