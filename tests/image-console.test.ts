import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const CONSOLE = 'apps/console';
/** Builds, and writes nothing: whether everything is there shows before anything is made small. */
const BUILD = `
const { build } = await import('vite');
const { output } = await build({ logLevel: 'warn', build: { write: false, minify: false } });
for (const { fileName } of output) console.log(fileName);
`;
const OWN_BUILD = /\/(?:node_modules|dist|\.turbo)(?:\/|$)/;

test('the stage of the image that builds the console copies all that its build reads', async () => {
  const dockerfile = await readFile(join(ROOT, 'Dockerfile'), 'utf8');
  const [, stage = ''] = /^FROM \S+ AS console\n([\s\S]*?)^FROM /m.exec(dockerfile) ?? [];
  const copied = [...stage.matchAll(/^COPY (?!--from)(\S+) /gm)].map(([, path = '']) => path);
  expect(copied).toContain(CONSOLE);
  const sent = (await readFile(join(ROOT, '.dockerignore'), 'utf8')).split('\n');
  for (const path of copied) expect(sent).toContain(`!${path.split('/')[0]}`);

  const folder = await temporaryFolder();
  for (const path of copied)
    await cp(join(ROOT, path), join(folder.path, path), {
      recursive: true,
      filter: (source) => !OWN_BUILD.test(source.slice(ROOT.length)),
    });
  // What `pnpm install` brings.
  for (const modules of ['node_modules', `${CONSOLE}/node_modules`]) {
    await mkdir(dirname(join(folder.path, modules)), { recursive: true });
    await symlink(join(ROOT, modules), join(folder.path, modules));
  }
  const cwd = join(folder.path, CONSOLE);
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', BUILD], {
    cwd,
  });
  expect(stdout.split('\n')).toContain('index.html');
  await folder.close();
});

test('the image has the documentation as it is in the repository', async () => {
  const dockerfile = await readFile(join(ROOT, 'Dockerfile'), 'utf8');
  const [, image = ''] =
    /^FROM \S+\n([\s\S]*)$/m.exec(dockerfile.slice(dockerfile.lastIndexOf('\nFROM '))) ?? [];
  expect(image).toMatch(/^COPY apps apps$/m);
  const ignored = (await readFile(join(ROOT, '.dockerignore'), 'utf8')).split('\n');
  expect(ignored.filter((line) => /^(?!!).*(?:docs|site|html)/.test(line))).toEqual([]);
});
