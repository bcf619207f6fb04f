import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Eleventy from '@11ty/eleventy';
import { z } from 'zod';
import { headingsOf, layoutPage } from './layout.ts';
import { findDeadLinks } from './links.ts';
import { extendMarkdown } from './markdown.ts';
import { type Page, type Pages, readPages } from './pages.ts';

const ROOT = join(import.meta.dirname, '../../..');
const BROWSER = join(import.meta.dirname, 'browser');

const run = promisify(execFile);

const Rendered = z.array(z.object({ outputPath: z.string(), content: z.string() }));

/**
 * Makes the whole site, the same from the same sources.
 *
 * @returns its files by their paths
 * @throws {Error} with every link that leads nowhere, or every page that is in no menu
 */
export async function buildSite(): Promise<ReadonlyMap<string, string>> {
  const dead = await findDeadLinks(ROOT);
  if (dead.length > 0) throw new Error(`Links that lead nowhere:\n${dead.join('\n')}`);
  const pages = await readPages(ROOT, await adminOpenapi());
  const contents = await render(pages);
  const contentOf = (page: Page): string => contents.get(page.output) ?? '';
  return new Map([
    ...pages.all.map((page): [string, string] => [page.output, layoutPage(page, contentOf(page), pages)]),
    ['search-data.js', searchData(pages.all.map((page) => ({ page, content: contentOf(page) })))],
    ...(await files(pages.version)),
  ]);
}

/** The description of the admin API, as its service writes it. */
const adminOpenapi = (): Promise<unknown> =>
  inTemporaryFolder(async (folder) => {
    const file = join(folder, 'openapi.json');
    await run(process.execPath, [join(ROOT, 'apps/admin/src/write-openapi.ts'), file]);
    return JSON.parse(await readFile(file, 'utf8'));
  });

/** What each page's Markdown is as HTML, by its path on the site. */
async function render({ all }: Pages): Promise<ReadonlyMap<string, string>> {
  const sources = new Set(all.map(({ source }) => source));
  // Pages are given as text: nothing is read from the folder, and nothing is written to it.
  return inTemporaryFolder(async (folder) => {
    const eleventy = new Eleventy(folder, folder, {
      quietMode: true,
      configPath: null,
      config: (configuration) => {
        configuration.setQuietMode(true);
        configuration.amendLibrary('md', (library) => extendMarkdown(library, sources));
        for (const { source, output, markdown } of all)
          configuration.addTemplate(output.replace(/html$/, 'md'), markdown, {
            source,
            permalink: output,
            // Braces of an example are text.
            templateEngineOverride: 'md',
          });
      },
    });
    const rendered = Rendered.parse(await eleventy.toJSON());
    return new Map(
      rendered.map(({ outputPath, content }) => [
        outputPath.slice(outputPath.indexOf(folder) + folder.length + 1),
        content,
      ]),
    );
  });
}

async function inTemporaryFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'docs-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

interface RenderedPage {
  readonly page: Page;
  readonly content: string;
}

/** What the search knows: each part of each page, on a line of its own. */
function searchData(pages: readonly RenderedPage[]): string {
  const lines = pages.flatMap(({ page, content }) => {
    const parts = content.split(/(?=<h[1-4] id=")/).filter((part) => part.trim() !== '');
    return parts.map((part) => {
      const [heading] = headingsOf(part);
      const text = textOf(part.replace(/^<h[1-4].*?<\/h[1-4]>/s, ''));
      const anchor = heading === undefined || heading.level === 1 ? '' : `#${heading.id}`;
      return JSON.stringify([`${page.output}${anchor}`, page.title, textOf(heading?.html ?? ''), text]);
    });
  });
  return `const searchData = [\n${lines.join(',\n')}\n];\n`;
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&', '#39': "'" };

const textOf = (html: string): string =>
  html
    .replaceAll(/<\/?(?:a|code|em|span|strong)\b[^>]*>/g, '')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/&(lt|gt|quot|amp|#39);/g, (_, name: string) => ENTITIES[name] ?? '')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** Styles, scripts and the list of versions. */
async function files(version: string): Promise<[string, string][]> {
  const { resolve } = createRequire(import.meta.url);
  const miniSearch = resolve('minisearch').replace(/dist\/.*$/, '');
  const [library, licence] = await Promise.all(
    ['dist/umd/index.js', 'LICENSE.txt'].map((name) => readFile(join(miniSearch, name), 'utf8')),
  );
  return [
    ['style.css', await readFile(join(BROWSER, 'style.css'), 'utf8')],
    ['icon.svg', await readFile(join(ROOT, 'apps/console/src/icon.svg'), 'utf8')],
    ...(await scripts()),
    ['minisearch.js', `/*\n${licence}*/\n${library?.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n')}`],
    // A host with the sites of several versions side by side replaces this one file in each of them.
    ['versions.js', `const versions = ${JSON.stringify([{ name: version, href: '.' }])};\n`],
  ];
}

/** The pages' scripts, without their types. */
const scripts = (): Promise<[string, string][]> =>
  inTemporaryFolder(async (folder) => {
    const tsc = join(ROOT, 'node_modules/.bin/tsc');
    await run(tsc, ['-p', BROWSER, '--noEmit', 'false', '--outDir', folder]);
    const read = async (name: string): Promise<[string, string]> => [
      name,
      await readFile(join(folder, name), 'utf8'),
    ];
    return Promise.all(['theme.js', 'site.js'].map(read));
  });
