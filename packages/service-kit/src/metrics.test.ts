import perfHooks from 'node:perf_hooks';
import { Gauge } from 'prom-client';
import { afterEach, expect, test, vi } from 'vitest';
import { createMetrics, createPartMetrics, createSharedPage, pageOf } from './metrics.ts';

afterEach(() => vi.restoreAllMocks());

const pages = {
  'a service': () => pageOf(createMetrics('text')),
  'a process of several parts': () => createSharedPage('gateway', [createPartMetrics('text')]),
};

test('a value that is no number is written as the format has it', async () => {
  const metrics = createMetrics('text');
  new Gauge({ name: 'never_measured', help: 'x', registers: [metrics.registry] }).set(Number.NaN);
  for (const page of [pageOf(metrics), createSharedPage('gateway', [metrics])]) {
    const text = await page.text();
    expect(text).toMatch(/^never_measured(\{.*\})? NaN$/m);
    expect(text).not.toMatch(/ Nan$/m);
  }
});

test.for(Object.entries(pages))(
  "the metrics of %s are read without Node's list of handles",
  async ([, open]) => {
    const page = open();
    // It ends the process where a handle has just been collected.
    const reads: string[] = [];
    const original = Reflect.get(process, '_getActiveHandles');
    Reflect.set(process, '_getActiveHandles', () => {
      reads.push('handles');
      return [];
    });
    try {
      const text = await page.text();
      expect(text).toContain('nodejs_active_resources');
      expect(text).not.toContain('nodejs_active_handles');
      expect(reads).toEqual([]);
    } finally {
      Reflect.set(process, '_getActiveHandles', original);
    }
  },
);

test.for(Object.entries(pages))(
  'the event loop of %s is sampled ten times a second at most: each sample wakes it up',
  ([, open]) => {
    const monitor = vi.spyOn(perfHooks, 'monitorEventLoopDelay');
    open();
    expect(monitor.mock.calls.map(([options]) => options?.resolution)).toEqual([100]);
  },
);
