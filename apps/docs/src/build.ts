/** Writes the site into `site/`, or into the folder that is named: `node src/build.ts [FOLDER]`. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { buildSite } from './build-site.ts';

const SITE = join(import.meta.dirname, '../site');
const [folder = SITE] = process.argv.slice(2);
const site = await buildSite();
// Without what a page that is gone has left. Another folder may have other things.
if (folder === SITE) await rm(SITE, { recursive: true, force: true });
for (const [path, content] of site) {
  const file = join(folder, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
}
