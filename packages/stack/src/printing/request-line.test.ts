import { expect, test } from 'vitest';
import { LogRecord, painter, requestLine } from './request-line.ts';

const REQUEST = {
  time: new Date(2026, 0, 1, 12, 0, 1).toISOString(),
  method: 'POST',
  path: '/v1/responses',
  requestId: 'req_1',
  status: 200,
  outcome: 'ok',
  durationMs: 1234,
};
const lineOf = (members: object) => requestLine(LogRecord.parse({ ...REQUEST, ...members }), painter(false));
const start = '12:00:01  POST /v1/responses';

test.for([
  [
    { model: 'gpt-5.2', channel: 'one', inputTokens: 3, outputTokens: 5, costMicroUsd: 75 },
    `${start}  gpt-5.2 → one  200  3 → 5 tokens  $0.000075  1.2 s`,
  ],
  [
    { model: 'gpt-5.2', channel: 'one', upstreamModel: 'big', costMicroUsd: 40_000, durationMs: 7.4 },
    `${start}  gpt-5.2 → one (big)  200  $0.04  7 ms`,
  ],
  [{ images: 1, costMicroUsd: 0, durationMs: 61_000 }, `${start}  200  1 image  $0.00  61 s`],
  [{ characters: 12, durationMs: undefined }, `${start}  200  12 characters`],
  [{ audioSeconds: 2.54 }, `${start}  200  2.5 s of audio  1.2 s`],
  [{ status: 401, outcome: 'refused', 'error.code': 'missing_key' }, `${start}  401 missing_key  1.2 s`],
  [{ status: 499, outcome: 'left', model: 'm' }, `${start}  m  499 left  1.2 s`],
  [
    {
      path: 'unknown',
      requestedPath: '/nope',
      status: 404,
      outcome: 'refused',
      'error.code': 'path_not_found',
    },
    '12:00:01  POST /nope  404 path_not_found  1.2 s',
  ],
] as const)('%j is one line', ([members, expected]) => {
  expect(lineOf(members)).toBe(expected);
});

test('colors mark the outcome, and empty parts have no color', () => {
  const colored = requestLine(LogRecord.parse({ ...REQUEST, status: 503, outcome: 'failed' }), painter(true));
  expect(colored).toContain('\u001b[31m503\u001b[39m');
  expect(colored).not.toContain('\u001b[36m');
});

test('below a failure is what is needed to find its cause', () => {
  const failure = {
    ...{ outcome: 'failed', 'error.code': 'upstream_failed', 'error.source': 'upstream' },
    ...{ 'error.cause': 'Error: it broke\n    at somewhere', upstreamStatus: 500 },
  };
  expect(lineOf({ ...failure, status: 502 }).split('\n')).toEqual([
    `${start}  502 upstream_failed  1.2 s`,
    '          request req_1, by the upstream, upstream status 500',
    '          Error: it broke',
    '              at somewhere',
  ]);
  expect(lineOf(failure)).toContain('200 failed upstream_failed');
});

test('a job without a waiting caller is a line of its own', () => {
  const job = { method: undefined, path: undefined, status: undefined, kind: 'image.edit', jobId: 'job_1' };
  expect(lineOf({ ...job, outcome: 'completed', images: 2, model: 'm', channel: 'c' })).toBe(
    '12:00:01  job image.edit  m → c  completed  2 images  1.2 s',
  );
});

test("a caller's text never reaches a terminal as a command, and every line is bounded", () => {
  const line = lineOf({ model: `x\u001b[2J\n${'y'.repeat(1000)}`, requestedPath: '/\u009b31m' });
  expect(line).toContain('POST /?31m  x?[2J?yyy');
  expect(line.length).toBeLessThan(300);
  expect(line).not.toMatch(/\p{Cc}/u);
});
