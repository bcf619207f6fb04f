import { globSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import MarkdownIt from 'markdown-it';
import { headingIds } from './headings.ts';

/** Where a link leads on the site: an address from the page, or else a file of the repository. */
export type SiteLink =
  | { readonly href: string; readonly isElsewhere: boolean }
  | { readonly href: undefined; readonly file: string };

/** Where a Markdown file is on the site. */
export const outputOf = (source: string): string =>
  source
    .replace(/^docs\//, '')
    .replace(/(^|\/)README\.md$/, '$1index.md')
    .replace(/\.md$/, '.html')
    .toLowerCase();

const ELSEWHERE = /^(?:[a-z][a-z+.-]*:|\/\/)/i;

/** What a relative link of a Markdown file names, from the root of the repository. */
function targetOf(source: string, href: string): { readonly path: string; readonly anchor: string } {
  const [path = '', anchor = ''] = href.split('#');
  const target = path === '' ? source : posix.join(posix.dirname(source), decodeURI(path)).replace(/\/$/, '');
  return { path: target, anchor };
}

/** @param pages the sources of all pages of the site */
export function linkOnSite(source: string, href: string, pages: ReadonlySet<string>): SiteLink {
  if (ELSEWHERE.test(href)) return { href, isElsewhere: true };
  const { path, anchor } = targetOf(source, href);
  const page = [path, `${path}/README.md`].find((name) => pages.has(name));
  if (page === undefined) return { href: undefined, file: path };
  const hash = anchor === '' ? '' : `#${anchor}`;
  if (page === source && hash !== '') return { href: hash, isElsewhere: false };
  return {
    href: `${posix.relative(posix.dirname(outputOf(source)), outputOf(page))}${hash}`,
    isElsewhere: false,
  };
}

/** A Markdown file: the anchors of its headings and where its links lead. */
interface Linked {
  readonly ids: ReadonlySet<string>;
  readonly hrefs: readonly string[];
}

function readLinks(markdown: string): Linked {
  const tokens = new MarkdownIt({ html: true }).parse(markdown, {});
  const inner = tokens.flatMap(({ children }) => children ?? []);
  const inHtml = [...tokens, ...inner].filter(({ type }) => type.startsWith('html_'));
  return {
    ids: new Set(headingIds(tokens).values()),
    hrefs: [
      ...inner.flatMap((token) => token.attrGet('href') ?? token.attrGet('src') ?? []),
      ...inHtml.flatMap(({ content }) =>
        [...content.matchAll(/(?:src|srcset|href)="([^"]+)"/g)].map(([, href]) => href ?? ''),
      ),
    ],
  };
}

/** Every Markdown file of the repository that a person reads. */
const FILES = [
  '*.md',
  'docs/**/*.md',
  '{apps,packages}/*/**/*.md',
  'tests/*.md',
  'bench/*.md',
  'deploy/**/*.md',
  'examples/*.md',
];
const NOT_OURS = (path: string): boolean =>
  /(?:^|\/)(?:node_modules|fixtures|golden|\.toolchain|site)(?:\/|$)/.test(path);

/** A sentence for each relative link of a Markdown file that leads to no file, or to no heading of one. */
export async function findDeadLinks(root: string): Promise<string[]> {
  const files = globSync(FILES, { cwd: root, exclude: NOT_OURS });
  const linked = new Map(
    await Promise.all(
      files.map(
        async (file): Promise<[string, Linked]> => [
          file,
          readLinks(await readFile(join(root, file), 'utf8')),
        ],
      ),
    ),
  );
  const dead: string[] = [];
  for (const [file, { hrefs }] of linked)
    for (const href of hrefs.filter((one) => !ELSEWHERE.test(one))) {
      const { path, anchor } = targetOf(file, href);
      const target = linked.get(path);
      if (statSync(join(root, path), { throwIfNoEntry: false }) === undefined)
        dead.push(`${file}: there is no ${path}, which ${href} names.`);
      else if (anchor !== '' && target?.ids.has(anchor) !== true)
        dead.push(`${file}: ${path} has no heading for #${anchor}.`);
    }
  return dead.toSorted();
}
