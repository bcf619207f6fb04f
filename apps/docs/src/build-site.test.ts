import { globSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { beforeAll, expect, test } from 'vitest';
import { buildSite } from './build-site.ts';
import { findDeadLinks, outputOf } from './links.ts';

const SITE = join(import.meta.dirname, '../site');

let built: ReadonlyMap<string, string>;
beforeAll(async () => {
  built = await buildSite();
}, 300_000);

test('the site in the repository is the one that its sources make: else run npm run docs:build', async () => {
  const files = globSync('**/*.*', { cwd: SITE }).toSorted();
  expect(files).toEqual([...built.keys()].toSorted());
  const stale: string[] = [];
  for (const [path, content] of built)
    if ((await readFile(join(SITE, path), 'utf8')) !== content) stale.push(path);
  expect(stale).toEqual([]);
});

const pages = (): [string, string][] => [...built].filter(([path]) => path.endsWith('.html'));

test('every address in a page is relative, and that of a file of the site or a heading of it', () => {
  const idsOf = new Map(
    pages().map(([path, html]) => [path, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))]),
  );
  const wrong: string[] = [];
  for (const [path, html] of pages())
    for (const [, address = ''] of html.matchAll(/ (?:href|src)="([^"]*)"/g)) {
      if (/^https?:/.test(address)) continue;
      const [file = '', id] = address.split('#');
      const target = file === '' ? path : join(dirname(path), file);
      const isThere = built.has(target) && (id === undefined || idsOf.get(target)?.has(id) === true);
      if (file.startsWith('/') || !isThere) wrong.push(`${path}: ${address}`);
    }
  expect(wrong).toEqual([]);
});

test('no page has a script or a style in it, or loads anything from another server', () => {
  for (const [path, html] of pages()) {
    expect(html, path).not.toMatch(/<script(?! src="[^":]+")|<style| style="| on\w+="/);
    expect(html, path).not.toMatch(/<(?:script|link|img)[^>]+(?:src|href)="(?:https?:)?\/\//);
  }
});

test('both references name every operation', () => {
  expect(built.get('reference/gateway-api.html')).toContain('>POST /v1/responses<');
  expect(built.get('reference/admin-api.html')).toContain('>PATCH /admin/v1/keys/{id}<');
});

test('a link to a file or a heading that does not exist is named with its page', async () => {
  const folder = await temporaryFolder();
  try {
    await mkdir(join(folder.path, 'docs'));
    await writeFile(
      join(folder.path, 'docs/a.md'),
      '# A\n\n## `x`: the "y"\n\n[own](#x-the-y) [b](b.md#b) [web](https://example.com/#z) [no](c.md) [no](b.md#c)\n\n```\n[code](none.md)\n```\n',
    );
    await writeFile(join(folder.path, 'docs/b.md'), '# B\n\n[up](../docs/a.md) [no](#d) ![no](none.png)\n');
    expect(await findDeadLinks(folder.path)).toEqual([
      'docs/a.md: docs/b.md has no heading for #c.',
      'docs/a.md: there is no docs/c.md, which c.md names.',
      'docs/b.md: docs/b.md has no heading for #d.',
      'docs/b.md: there is no docs/none.png, which none.png names.',
    ]);
  } finally {
    await folder.close();
  }
});

test.for([
  ['docs/README.md', 'index.html'],
  ['docs/clouds/README.md', 'clouds/index.html'],
  ['docs/clouds/aws.md', 'clouds/aws.html'],
  ['CHANGELOG.md', 'changelog.html'],
] as const)('%s is %s', ([source, output]) => {
  expect(outputOf(source)).toBe(output);
});
