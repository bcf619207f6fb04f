import { expect, test } from 'vitest';
import { createLinePrinter } from './line-printer.ts';

function printer(pretty: boolean) {
  const written: string[] = [];
  return { written, ...createLinePrinter({ pretty, write: (text) => written.push(text) }) };
}

test('what processes write before the start message comes after it', () => {
  const { line, open, written } = printer(false);
  line('text', '{"level":30,"msg":"ready"}');
  expect(written).toEqual([]);
  open();
  line('text', '{"level":30,"msg":"next"}');
  expect(written).toEqual(['{"level":30,"msg":"ready"}\n', '{"level":30,"msg":"next"}\n']);
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

test('a person sees lines, not JSON', () => {
  const { line, open, written } = printer(true);
  open();
  line('text', '{"level":30,"time":"2026-01-01T00:00:00.000Z","service":"text","msg":"ready","port":8081}');
  expect(written.join('')).toMatch(/INFO.*text ready/);
  expect(written.join('')).not.toContain('"msg"');
});
