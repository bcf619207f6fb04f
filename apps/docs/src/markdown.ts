import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import http from 'highlight.js/lib/languages/http';
import ini from 'highlight.js/lib/languages/ini';
import json from 'highlight.js/lib/languages/json';
import typescript from 'highlight.js/lib/languages/typescript';
import yaml from 'highlight.js/lib/languages/yaml';
import type MarkdownIt from 'markdown-it';
import type { Token } from 'markdown-it';
import { headingIds } from './headings.ts';
import { linkOnSite } from './links.ts';

for (const [name, language] of Object.entries({ sh: bash, http, toml: ini, json, ts: typescript, yaml }))
  hljs.registerLanguage(name, language);

/** The file of the page that is rendered. */
const sourceOf = (data: unknown): string => {
  if (typeof data === 'object' && data !== null && 'source' in data && typeof data.source === 'string')
    return data.source;
  throw new Error('a page has no source');
};

/**
 * Gives headings the anchors that a forge gives them, makes links those of the site, and colours code by classes: the pages' policy
 * allows no inline styles.
 *
 * @param pages the sources of all pages
 */
export function extendMarkdown(library: MarkdownIt, pages: ReadonlySet<string>): void {
  library.set({
    // Pages are Markdown alone; what looks like HTML is text.
    html: false,
    highlight: (code, language) =>
      hljs.getLanguage(language) === undefined ? '' : hljs.highlight(code, { language }).value,
  });
  library.core.ruler.push('site', ({ tokens, env }) => {
    const source = sourceOf(env);
    for (const [token, id] of headingIds(tokens)) token.attrSet('id', id);
    for (const token of tokens) {
      if (token.type === 'th_open' || token.type === 'td_open') classForStyle(token);
      linkTokens(token.children ?? [], source, pages);
      // A box to tick, as a forge shows it.
      const [first] = token.children ?? [];
      if (first?.type === 'text') first.content = first.content.replace(/^\[ \] /, '☐ ');
    }
  });
  const { rules } = library.renderer;
  // A scroll of its own, which a keyboard can reach, for what is wider than a phone.
  rules.table_open = () => '<div class="wide" tabindex="0"><table>\n';
  rules.table_close = () => '</table></div>\n';
  const fence = rules.fence;
  rules.fence = (tokens, index, options, env, renderer) => {
    const token = tokens[index];
    if (token === undefined || fence === undefined) return '';
    // What follows the language is for the test of the snippets.
    token.info = token.info.trim().split(/\s/)[0] ?? '';
    return fence(tokens, index, options, env, renderer).replace(/^<pre>/, '<pre tabindex="0">');
  };
}

function classForStyle(token: Token): void {
  const align = /text-align:(\w+)/.exec(token.attrGet('style') ?? '')?.[1];
  if (align === undefined) return;
  token.attrs = (token.attrs ?? []).filter(([name]) => name !== 'style');
  token.attrJoin('class', `align-${align}`);
}

/** Links to files that are not on the site become their names. */
function linkTokens(tokens: readonly Token[], source: string, pages: ReadonlySet<string>): void {
  let tag = 'a';
  for (const token of tokens) {
    if (token.type === 'link_close') token.tag = tag;
    if (token.type !== 'link_open') continue;
    const link = linkOnSite(source, token.attrGet('href') ?? '', pages);
    tag = link.href === undefined ? 'span' : 'a';
    token.tag = tag;
    if (link.href === undefined)
      token.attrs = [
        ['class', 'file'],
        ['title', `In the repository: ${link.file}`],
      ];
    else token.attrSet('href', link.href);
  }
}
