import GithubSlugger from 'github-slugger';
import type { Token } from 'markdown-it';

/** The anchors of a page's headings, by the tokens that open them: those that a forge gives them. */
export function headingIds(tokens: readonly Token[]): ReadonlyMap<Token, string> {
  const slugger = new GithubSlugger();
  const ids = new Map<Token, string>();
  for (const [index, token] of tokens.entries())
    if (token.type === 'heading_open') ids.set(token, slugger.slug(shownText(tokens[index + 1])));
  return ids;
}

/** The text of a heading, as a reader sees it. */
const shownText = (inline: Token | undefined): string =>
  (inline?.children ?? [])
    .filter(({ type }) => type === 'text' || type === 'code_inline')
    .map(({ content }) => content)
    .join('');
