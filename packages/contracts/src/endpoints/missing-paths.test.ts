import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ENDPOINTS } from './endpoints.ts';
import { MISSING_PATHS, pathNotFound } from './missing-paths.ts';

const saidOf = (path: string) => pathNotFound('POST', path).message;

test('the page on the API has the table of what is missing, in the same words', () => {
  const page = readFileSync(new URL('../../../../docs/api.md', import.meta.url), 'utf8');
  const table = page.split('### What is not here\n')[1]?.split('\n## ')[0] ?? '';
  const rows = table.split('\n').filter((line) => line.startsWith('| `'));
  expect(rows.map((row) => row.replaceAll('`', ''))).toEqual(
    MISSING_PATHS.map(({ paths, says }) => `| ${paths.join(', ')} | ${says} |`),
  );
});

test('nothing that exists is called missing', () => {
  for (const { path } of ENDPOINTS) expect(saidOf(path)).toBe(`Invalid URL (POST ${path})`);
});

test('each path is in the table once, and everything below it gets the same words', () => {
  for (const { paths, says } of MISSING_PATHS)
    for (const path of paths.map((pattern) => pattern.replace(/\{\w+\}/, 'some_id')))
      for (const called of [path, `${path}/more`])
        expect(saidOf(called)).toBe(`Invalid URL (POST ${called}). ${says}`);
});

test('a path that only begins like one of the table gets no words of it', () => {
  for (const path of ['/v1/filesystem', '/v1/chat/completions/', '/v1/audio/translation'])
    expect(saidOf(path)).toBe(`Invalid URL (POST ${path})`);
});

test('what a caller is told to use exists', () => {
  const named = MISSING_PATHS.flatMap(({ says }) => says.match(/(?:GET|POST) \/[\w/{}:]+\w[}]?/g) ?? []);
  const offered = new Set(ENDPOINTS.map(({ method, path }) => `${method} ${path}`));
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((each) => !offered.has(each))).toEqual([]);
});
