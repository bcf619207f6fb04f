import { ConfigError } from '@gateway/contracts/config-error';
import { type OtlpReceiver, startOtlpReceiver } from '@gateway/testkit/start-otlp-receiver';
import { waitFor } from '@gateway/testkit/wait-for';
import pino from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createMetrics } from '../metrics.ts';
import { openTracing } from './open-tracing.ts';
import { isTraced } from './settings.ts';

let receiver: OtlpReceiver;
let closing: (() => unknown)[] = [];
beforeEach(async () => {
  receiver = await startOtlpReceiver();
});
afterEach(async () => {
  for (const close of closing) await close();
  closing = [];
  await receiver.close();
});

const open = (env: Record<string, string> = {}) => {
  const lines: string[] = [];
  const metrics = createMetrics('text');
  const tracing = openTracing({
    service: 'text',
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: '10', ...env },
    life: {
      logger: pino({}, { write: (line) => void lines.push(line) }),
      stopping: new AbortController().signal,
      own: (resource, close) => {
        closing.push(() => close(resource));
        return resource;
      },
    },
    metrics,
    drainTimeoutMs: 100,
    collector: {
      url: `${receiver.url}/v1/traces`,
      headers: { authorization: 'Basic of-the-collector' },
    },
  });
  const dropped = async (reason: string) => {
    const page = await metrics.registry.getSingleMetricAsString('gateway_spans_dropped_total');
    return Number(new RegExp(`reason="${reason}"[^}]*} (\\d+)`).exec(page)?.[1]);
  };
  const write = (name = 'request') =>
    tracing
      .fromCaller({})
      .write({ name, isFailed: false, attributes: { one: 1, none: undefined, list: ['a'] } });
  return { lines, dropped, write };
};

test('spans are exported with what they have, and with the name of their service', async () => {
  const { write, dropped } = open();
  write('of this test');
  await waitFor(() => receiver.spans.length === 1);
  expect(receiver.spans[0]).toMatchObject({
    name: 'of this test',
    kind: 'server',
    parentSpanId: null,
    attributes: { one: 1, list: ['a'] },
    traceState: '',
    resource: { 'service.name': 'gateway-text', 'service.namespace': 'gateway' },
  });
  expect(await dropped('queue_full')).toBe(0);
});

test('what a full queue does not take is dropped and counted', async () => {
  receiver.receive('hang');
  const { write, dropped, lines } = open({
    OTEL_BSP_MAX_QUEUE_SIZE: '3',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '1',
  });
  write();
  await waitFor(() => receiver.requests.length === 1);
  for (let n = 0; n < 5; n += 1) write();
  expect(await dropped('queue_full')).toBe(2);
  expect(lines.filter((line) => line.includes('the queue of spans is full'))).toHaveLength(1);
});

test('a collector that refuses is named once, with no word of the headers, and what it refused is counted', async () => {
  receiver.receive(401);
  const { write, dropped, lines } = open();
  for (let n = 1; n <= 3; n += 1) {
    write();
    await waitFor(async () => (await dropped('export_failed')) === n);
  }
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('the collector does not take spans');
  expect(lines[0]).not.toContain('of-the-collector');
  receiver.receive('take');
  write('taken');
  await waitFor(() => receiver.spans.some(({ name }) => name === 'taken'));
});

test('what a collector has not taken of a batch is counted, and said', async () => {
  receiver.receive('take-partly');
  const { write, dropped, lines } = open();
  write();
  await waitFor(async () => (await dropped('export_failed')) === 300);
  expect(lines[0]).toContain('has not taken 300');
});

test('a collector that hangs does not hold up the end of the process', async () => {
  receiver.receive('hang');
  const { write } = open({ OTEL_EXPORTER_OTLP_TIMEOUT: '600000', OTEL_BSP_EXPORT_TIMEOUT: '600000' });
  write();
  await Promise.all(closing.map((close) => close()));
  closing = [];
  expect(receiver.spans).toEqual([]);
});

test('what is queued is exported at the end', async () => {
  const { write } = open({ OTEL_BSP_SCHEDULE_DELAY: '600000' });
  for (let n = 0; n < 3; n += 1) write();
  await Promise.all(closing.map((close) => close()));
  closing = [];
  expect(receiver.spans).toHaveLength(3);
});

test('however many batches are queued, all are exported at the end', async () => {
  const { write, dropped } = open({
    OTEL_BSP_SCHEDULE_DELAY: '600000',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '1',
  });
  for (let n = 0; n < 50; n += 1) write();
  await Promise.all(closing.map((close) => close()));
  closing = [];
  expect(receiver.spans).toHaveLength(50);
  expect(await dropped('export_failed')).toBe(0);
});

test.for([
  ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
  ['OTEL_TRACES_SAMPLER_ARG', '20 %'],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'secret-without-a-name'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317'],
  ['OTEL_BSP_MAX_QUEUE_SIZE', 'many'],
  ['TRACES_OF_CALLERS', 'ignore'],
  ['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', 'everything'],
])('%s=%s is refused at the start, by its name and without its value', ([name = '', value = '']) => {
  const start = () => open({ [name]: value });
  expect(start).toThrow(ConfigError);
  expect(start).toThrow(name);
  expect(start).not.toThrow(value);
});

test('traces are exported where an endpoint is set and they are not switched off', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
  expect(isTraced({})).toBe(false);
  expect(isTraced({ OTEL_EXPORTER_OTLP_ENDPOINT: ' ' })).toBe(false);
  expect(isTraced(endpoint)).toBe(true);
  expect(isTraced({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' })).toBe(true);
  expect(isTraced({ ...endpoint, OTEL_SDK_DISABLED: 'TRUE' })).toBe(false);
  expect(isTraced({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' })).toBe(false);
});
