import { posix } from 'node:path';
import type { Page, Pages } from './pages.ts';

/** The heading of a part of a page, as it was rendered. */
export interface Heading {
  readonly id: string;
  readonly level: number;
  /** Without elements; entities stay. */
  readonly html: string;
}

const HEADING = /<h([1-4]) id="([^"]*)">(.*?)<\/h\1>/gs;

export const headingsOf = (html: string): Heading[] =>
  [...html.matchAll(HEADING)].map(([, level = '', id = '', inner = '']) => ({
    id,
    level: Number(level),
    html: inner.replaceAll(/<[^>]+>/g, ''),
  }));

export const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** A whole page. All addresses in it are relative, so that the site works below any path and as files. */
export function layoutPage(page: Page, content: string, { sections, version }: Pages): string {
  const to = (output: string): string => posix.relative(posix.dirname(page.output), output);
  const title = escapeHtml(page.title);
  const link = (other: Page): string =>
    `<a href="${to(other.output)}"${other === page ? ' aria-current="page"' : ''}>${escapeHtml(other.title)}</a>`;
  const menu = sections.map(
    (section) =>
      `<section><h2>${escapeHtml(section.title)}</h2><ul>${section.pages.map((other) => `<li>${link(other)}</li>`).join('')}</ul></section>`,
  );
  const listed = sections.flatMap(({ pages }) => pages);
  const index = listed.indexOf(page);
  const neighbours = [
    ['previous', 'Previous', listed[index - 1]],
    ['next', 'Next', index < 0 ? undefined : listed[index + 1]],
  ] as const;
  const parts = headingsOf(content).filter(({ level }) => level === 2 || level === 3);
  const depth = parts.filter(({ level }) => level === 2).length > 20 ? 2 : 3;
  return `<!doctype html>
<html lang="en" data-root="${to('.') === '' ? '.' : to('.')}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.output === 'index.html' ? title : `${title} · Gateway`}</title>
<link rel="icon" href="${to('icon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${to('style.css')}">
<script src="${to('theme.js')}"></script>
<script src="${to('versions.js')}" defer></script>
<script src="${to('site.js')}" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="name" href="${to('index.html')}">Gateway <span>docs</span></a>
<a class="version" href="${to('changelog.html')}" title="What changed">${escapeHtml(version)}</a>
<div class="search" role="search">
<input type="search" id="search" aria-label="Search" placeholder="Search ( / )" autocomplete="off" spellcheck="false" aria-controls="found">
<div id="found" hidden></div>
</div>
<button type="button" id="theme" hidden>Theme</button>
<a class="to-menu" href="#menu">Menu</a>
</header>
<div class="columns">
<nav id="menu" aria-label="Pages">
${menu.join('\n')}
</nav>
<main id="content">
${content}
<footer>${neighbours
    .filter(([, , other]) => other !== undefined)
    .map(([rel, word, other]) =>
      other === undefined
        ? ''
        : `<a rel="${rel === 'previous' ? 'prev' : 'next'}" class="${rel}" href="${to(other.output)}"><span class="direction">${word}</span> ${escapeHtml(other.title)}</a>`,
    )
    .join('')}</footer>
</main>
${
  parts.length < 2
    ? ''
    : `<nav class="parts" aria-label="On this page"><h2>On this page</h2><ul>${parts
        .filter(({ level }) => level <= depth)
        .map(({ id, level, html }) => `<li class="level-${level}"><a href="#${id}">${html}</a></li>`)
        .join('')}</ul></nav>`
}
</div>
</body>
</html>
`;
}
