import { expect, test } from 'vitest';
import { createLinePrinter, wantsPretty } from './line-printer.ts';

function printer(pretty: boolean) {
  const written: string[] = [];
  const options = { pretty, color: false, schedule: () => undefined };
  const made = createLinePrinter({ ...options, write: (text) => written.push(text) });
  return { written, ...made, line: (process: string, text: string) => made.lines(process, [text]) };
}

test('what processes write before the start message comes after it', () => {
  const { line, open, written } = printer(false);
  line('text', '{"level":30,"msg":"ready"}');
  expect(written).toEqual([]);
  open();
  line('text', '{"level":30,"msg":"next"}');
  expect(written).toEqual(['{"level":30,"msg":"ready"}\n', '{"level":30,"msg":"next"}\n']);
});

test('lines that come together are written together', () => {
  const { lines, open, written } = printer(false);
  lines('text', ['{"level":30,"msg":"one"}', '{"level":30,"msg":"two"}']);
  open();
  lines('text', ['{"level":30,"msg":"three"}', 'a warning']);
  expect(written).toHaveLength(2);
  expect(
    written
      .join('')
      .trimEnd()
      .split('\n')
      .map((each) => JSON.parse(each).msg),
  ).toEqual(['one', 'two', 'three', 'a warning']);
});

test('a line that is not JSON becomes one, with the name of its process', () => {
  const { line, report, open, written } = printer(false);
  open();
  line('text', 'a warning of Node');
  report('text ended');
  expect(written.map((each) => JSON.parse(each))).toMatchObject([
    { service: 'text', msg: 'a warning of Node' },
    { service: 'starter', msg: 'text ended' },
  ]);
});

test('a person sees lines, not JSON, without what the start message contains', () => {
  const { line, open, written } = printer(true);
  open();
  line('text', '{"level":30,"time":"2026-01-01T00:00:00.000Z","service":"text","msg":"ready","port":8081}');
  line(
    'text',
    '{"level":40,"time":"2026-01-01T00:00:00.000Z","service":"text","msg":"redis is away","tries":2}',
  );
  line(
    'text',
    '{"level":50,"service":"text","msg":"close failed","err":{"message":"no","stack":"Error: no\\n    at x"}}',
  );
  line('text', 'a warning\u001b[31m of Node');
  line('text', '{"half a line');
  expect(written).toEqual([
    expect.stringMatching(/^\d\d:\d\d:\d\d {2}WARN {3}text {2}redis is away {2}tries=2\n$/),
    '--:--:--  ERROR  text  close failed\n          Error: no\n              at x\n',
    expect.stringMatching(/WARN {3}text {2}a warning\?\[31m of Node\n$/),
    expect.stringMatching(/WARN .*\{"half a line\n$/),
  ]);
});

test('a request is one line when it has ended, and a line that still waits for others is printed at the end', () => {
  const { line, open, close, written } = printer(true);
  open();
  const request = {
    level: 30,
    method: 'POST',
    path: '/v1/responses',
    requestId: 'req_1',
    status: 200,
    outcome: 'ok',
  };
  line('text', JSON.stringify({ ...request, service: 'text', model: 'gpt-5.2', channel: 'one' }));
  expect(written).toEqual([]);
  line('edge', JSON.stringify({ ...request, service: 'edge', durationMs: 12, forwardedTo: 'text' }));
  expect(written).toEqual(['--:--:--  POST /v1/responses  gpt-5.2 → one  200  12 ms\n']);
  line('edge', JSON.stringify({ ...request, requestId: 'req_2', service: 'edge', forwardedTo: 'text' }));
  close();
  expect(written.slice(1)).toEqual(['--:--:--  POST /v1/responses  200\n']);
});

test('a webhook is a line of its own, and not taken for the job that it tells of', () => {
  const { line, open, written } = printer(true);
  open();
  const webhook = {
    level: 30,
    service: 'image-worker',
    requestId: 'req_1',
    jobId: 'job_1',
    webhookId: 'msg_1',
  };
  line('image-worker', JSON.stringify({ ...webhook, msg: 'webhook delivered', host: 'hooks.example.com' }));
  expect(written).toEqual([
    '--:--:--  INFO   image-worker  webhook delivered  requestId=req_1  jobId=job_1  webhookId=msg_1  host=hooks.example.com\n',
  ]);
});

test.for([
  [undefined, true, true],
  [undefined, false, false],
  ['', true, true],
  ['json', true, false],
  ['pretty', false, true],
] as const)('LOG_FORMAT %s on a terminal (%s) is pretty: %s', ([format, isTerminal, expected]) => {
  expect(wantsPretty(format, isTerminal)).toBe(expected);
});

test('another LOG_FORMAT is refused with the valid ones', () => {
  expect(() => wantsPretty('xml', true)).toThrow('LOG_FORMAT must be pretty or json.');
});
