import { expect, test } from 'vitest';
import { createMetrics, createPartMetrics, createSharedPage, pageOf } from './metrics.ts';

const pages = {
  'a service': () => pageOf(createMetrics('text')),
  'a process of several parts': () => createSharedPage('gateway', [createPartMetrics('text')]),
};

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
