import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { type BuiltConsole, readBuild, runBuild } from './build-console.ts';

/** What a browser may load until a page can be used, in bytes as they are sent. */
const MAX_FIRST_LOAD_BYTES = 250_000;

let built: BuiltConsole;
beforeAll(async () => {
  built = await readBuild();
});

test('the same sources are built once, so a second start builds nothing', async () => {
  expect(await runBuild()).toMatch(/1 cached, 1 total/);
});

test.for([
  ['the sign-in', []],
  ['the overview, its charts still to come', ['src/pages/overview/overview-page.tsx']],
] as const)('%s can be used after 250 KB', async ([, modules]) => {
  const loaded = await built.loadedWith(...modules);
  const sizeBytes = [...loaded.values()].reduce((sum, size) => sum + size, 0);
  expect(sizeBytes, JSON.stringify(Object.fromEntries(loaded), null, 2)).toBeLessThanOrEqual(
    MAX_FIRST_LOAD_BYTES,
  );
});

/** A class of Mantine's: each component has its own, in its scripts and in its stylesheet. */
const CLASS = /\bm_[0-9a-f]{6,8}\b/g;
const classesIn = (text: string): Set<string> => new Set(text.match(CLASS));
const read = (folder: string, name: string): Promise<string> => readFile(join(folder, name), 'utf8');

test('every component of Mantine that a page uses has its stylesheet in mantine.css', async () => {
  const assets = join(built.dist, 'assets');
  const files = await readdir(assets);
  const readAll = (ending: string): Promise<string[]> =>
    Promise.all(files.filter((name) => name.endsWith(ending)).map((name) => read(assets, name)));
  const used = classesIn((await readAll('.js')).join('\n'));
  const styled = classesIn((await readAll('.css')).join('\n'));
  expect(used.size).toBeGreaterThan(100);

  const mantine = join(dirname(createRequire(import.meta.url).resolve('@mantine/core/styles.css')), 'styles');
  const missing: string[] = [];
  for (const name of await readdir(mantine)) {
    if (name.endsWith('.layer.css')) continue;
    const classes = [...classesIn(await read(mantine, name))];
    if (classes.some((one) => used.has(one) && !styled.has(one))) missing.push(name);
  }
  expect(missing).toEqual([]);
});
