import type { DocumentPart, SearchResultPart, TextPart } from '../parts.ts';

/** A document's name and context as lines above its text. */
const headed = (headings: readonly (string | undefined)[], text: string): string =>
  [...headings.filter((heading) => heading !== undefined && heading !== ''), text].join('\n');

/** A search result for models that have no such thing: title, source, text. */
export const searchResultText = ({ title, source, texts }: SearchResultPart): string =>
  headed([title, source], texts.join('\n'));

export const documentText = ({ title, context }: DocumentPart, text: string): string =>
  headed([title, context], text);

export const textOf = (parts: readonly TextPart[], separator: string): string =>
  parts.map((part) => part.text).join(separator);

/** The form of instructions in a user turn, where the upstream allows them nowhere else. */
export const asSystemText = (text: string): string => `<system>${text}</system>`;

/** A failed tool's result, where failure has no member of its own. Many tools write it themselves. */
export const errorText = (text: string): string => (/^\s*error:/i.test(text) ? text : `Error: ${text}`);

/** Stands in a tool's result for what the user shows after it. */
export const MOVED_TEXT = '(shown in the next message)';

/** Replaces a missing user turn. */
export const CONTINUATION_TEXT = '(conversation continues)';

/** OpenAI's protocols demand a file name next to inline data, and read its ending. */
export const fileName = (title: string | undefined, mediaType: string): string => {
  const ending = mediaType === 'application/pdf' ? '.pdf' : '.txt';
  if (title === undefined) return `document${ending}`;
  return /\.\w{1,5}$/.test(title) ? title : `${title}${ending}`;
};

/**
 * Claude Code's own accounting line: members such as `cch=1;` at the head of a block, with or without text after it. It
 * changes with every request, so that it would defeat other vendors' prompt caches.
 */
const ATTRIBUTION =
  /^\s*x-anthropic-billing-header:[^;\r\n]*(?:;[ \t]*[\w-]+=[^;\r\n]*)*;?[ \t]*(?:\r\n|\r|\n)*/i;

export const withoutAttribution = (system: readonly TextPart[]): readonly TextPart[] =>
  system.flatMap((part) => {
    const text = part.text.replace(ATTRIBUTION, '');
    if (text.length === part.text.length) return [part];
    return text.trim() === '' ? [] : [{ ...part, text }];
  });
