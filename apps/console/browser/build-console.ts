import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

const ROOT = join(import.meta.dirname, '../../..');
const DIST = join(import.meta.dirname, '../dist');

/** What Vite's manifest says of a module: its file, the stylesheets that come with it, the modules that it imports at once. */
const Manifest = z.record(
  z.string(),
  z.looseObject({
    file: z.string(),
    css: z.array(z.string()).default([]),
    imports: z.array(z.string()).default([]),
  }),
);

/** The built console. */
export interface BuiltConsole {
  /** Its folder. */
  readonly dist: string;
  /**
   * What a browser loads before it can run these modules, as the admin service sends it: the page itself, and scripts and stylesheets in
   * their brotli form. In bytes, by file.
   */
  loadedWith(...modules: readonly string[]): Promise<ReadonlyMap<string, number>>;
}

/** Runs the build as `npm start` does. Resolves to what it printed. */
export async function runBuild(): Promise<string> {
  const turbo = join(ROOT, 'node_modules/.bin/turbo');
  const { stdout } = await promisify(execFile)(turbo, ['run', 'build', '--filter=@gateway/console'], {
    cwd: ROOT,
  });
  return stdout;
}

/** The build that `build-once.ts` has made. */
export async function readBuild(): Promise<BuiltConsole> {
  const manifest = Manifest.parse(JSON.parse(await readFile(join(DIST, '.vite/manifest.json'), 'utf8')));

  const collect = (module: string, files: Set<string>): void => {
    const { file, css, imports } = manifest[module] ?? missing(module);
    if (files.has(file)) return;
    for (const one of [file, ...css]) files.add(one);
    for (const one of imports) collect(one, files);
  };
  return {
    dist: DIST,
    loadedWith: async (...modules) => {
      const files = new Set<string>();
      for (const module of ['index.html', ...modules]) collect(module, files);
      const sizeOf = async (file: string) => (await stat(join(DIST, file))).size;
      return new Map([
        ['index.html', await sizeOf('index.html')],
        ...(await Promise.all(
          [...files].map(async (file): Promise<[string, number]> => [file, await sizeOf(`${file}.br`)]),
        )),
      ]);
    },
  };
}

const missing = (module: string): never => {
  throw new Error(`The build has no module ${module}.`);
};
