import type { Span } from '@gateway/contracts/trace/request-trace';
import { expect, test } from 'vitest';
import { createSampler, SAMPLERS, type SamplerSettings } from './sampler.ts';
import { createTracing } from './tracing.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const headers = (isSampled: boolean) => ({ traceparent: `00-${TRACE}-${SPAN}-${isSampled ? '01' : '00'}` });

/** Chance comes round the circle, so that shares are exact. */
const tracingBy = (settings: Partial<SamplerSettings>) => {
  let drawn = 0;
  const random = () => {
    drawn += 1;
    return (drawn % 10) / 10;
  };
  const written: Span[] = [];
  const sampler = createSampler(
    { sampler: 'parentbased_traceidratio', ratio: 0.2, callers: 'continue', ...settings },
    random,
  );
  return { written, tracing: createTracing(sampler, (span) => written.push(span)) };
};
const sampledOf = (count: number, isSampled: () => boolean) =>
  Array.from({ length: count }, isSampled).filter(Boolean).length;

test('a caller who asks for all of its requests to be sampled gets no more than the share', () => {
  const { tracing } = tracingBy({});
  expect(sampledOf(100, () => tracing.fromCaller(headers(true)).isSampled)).toBe(20);
  expect(sampledOf(100, () => tracing.fromCaller(headers(false)).isSampled)).toBe(0);
  expect(sampledOf(100, () => tracing.fromCaller({}).isSampled)).toBe(20);
});

test('a caller that is trusted decides alone', () => {
  const { tracing } = tracingBy({ callers: 'trust' });
  expect(sampledOf(100, () => tracing.fromCaller(headers(true)).isSampled)).toBe(100);
  expect(sampledOf(100, () => tracing.fromCaller(headers(false)).isSampled)).toBe(0);
  expect(sampledOf(100, () => tracing.fromCaller({}).isSampled)).toBe(20);
});

test('without a sampler by parents the caller decides nothing', () => {
  const { tracing } = tracingBy({ sampler: 'traceidratio' });
  for (const isSampled of [true, false])
    expect(sampledOf(100, () => tracing.fromCaller(headers(isSampled)).isSampled)).toBe(20);
});

test.for(SAMPLERS.filter((name) => name.includes('always')))('%s has no share', (sampler) => {
  const { tracing } = tracingBy({ sampler, ratio: 0.2 });
  expect(tracing.fromCaller({}).isSampled).toBe(sampler.endsWith('always_on'));
});

test("a caller's trace is continued: the same trace, with the caller's span as the parent", () => {
  const { tracing } = tracingBy({ ratio: 1 });
  const { context, parent, links } = tracing.fromCaller(headers(true));
  expect(context).toMatchObject({ traceId: TRACE, isSampled: true });
  expect(parent).toMatchObject({ traceId: TRACE, spanId: SPAN });
  expect(context.spanId).not.toBe(SPAN);
  expect(links).toEqual([]);
});

test("with links, a request has a trace of its own that refers to the caller's", () => {
  const { tracing } = tracingBy({ ratio: 1, callers: 'link' });
  const { context, parent, links } = tracing.fromCaller(headers(false));
  expect(context.traceId).not.toBe(TRACE);
  expect(context.isSampled).toBe(true);
  expect(parent).toBeNull();
  expect(links).toMatchObject([{ traceId: TRACE, spanId: SPAN }]);
});

test('one of many requests of a connection refers to it, and goes on with the trace that it names itself', () => {
  const connection = `00-${TRACE}-${SPAN}-01`;
  const own = { traceId: TRACE.replace('0af', '1bf'), spanId: SPAN.replace('b7', 'c7') };
  const named = `00-${own.traceId}-${own.spanId}-01`;
  const { tracing } = tracingBy({ ratio: 1 });
  expect(tracing.linked(connection)).toMatchObject({ parent: null, links: [{ spanId: SPAN }] });
  expect(tracing.linked(connection, 'nonsense')).toMatchObject({ parent: null, links: [{ spanId: SPAN }] });
  const turn = tracing.linked(connection, named);
  expect(turn).toMatchObject({ context: { traceId: own.traceId }, parent: own, links: [{ spanId: SPAN }] });
  const apart = tracingBy({ ratio: 1, callers: 'link' }).tracing.linked(connection, named);
  expect(apart).toMatchObject({ parent: null, links: [{ spanId: SPAN }, own] });
  const few = tracingBy({}).tracing;
  expect(sampledOf(100, () => few.linked(connection, named).isSampled)).toBe(20);
});

test('another process of the gateway continues what was decided, however small the share', () => {
  const { tracing } = tracingBy({ sampler: 'always_off' });
  for (const isSampled of [true, false]) {
    const { traceparent } = headers(isSampled);
    expect(tracing.continued(traceparent, 'internal')).toMatchObject({
      isSampled,
      parent: { spanId: SPAN },
      links: [],
    });
    expect(tracing.continued(traceparent, 'consumer').links).toMatchObject([{ spanId: SPAN }]);
  }
  expect(tracing.continued(undefined, 'consumer').isSampled).toBe(false);
});

test('what is not sampled writes nothing and is continued as such', () => {
  const { tracing, written } = tracingBy({ sampler: 'always_off' });
  const trace = tracing.fromCaller({});
  trace.write({ name: 'request', attributes: {}, isFailed: false });
  const target = { channel: 'one', account: 'default', provider: 'openai', origin: 'http://one', model: 'm' };
  trace.endAttempt(trace.attempt(target), { outcome: 'ok', status: 200, isHedge: false });
  expect(trace.attempts).toEqual([]);
  expect(written).toEqual([]);
  expect(trace.traceparent).toMatch(/-00$/);
  expect(trace.shownId).toBeUndefined();
});
