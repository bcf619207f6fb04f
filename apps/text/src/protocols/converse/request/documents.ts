import { dropCitations } from '../../../neutral/encoding/document-citations.ts';
import type { Encoder } from '../../../neutral/encoding/encoder.ts';
import { documentText } from '../../../neutral/encoding/plain-text.ts';
import { refuseParameter } from '../../../neutral/losses.ts';
import type { DocumentPart } from '../../../neutral/parts.ts';

export type Block = { readonly [kind: string]: unknown };

/** The formats of documents, by media type. Any other text is `txt`. */
const FORMATS: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'application/msword': 'doc',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'text/html': 'html',
  'text/markdown': 'md',
};
const READABLE = /^(?:text\/.*|application\/json)$/;

const DEFAULT_NAME = 'document';
const MAX_NAME_LENGTH = 200;

/** Names of a request's documents: letters, digits, single blanks, `-`, `()` and `[]`; each of them once. */
export class DocumentNames {
  readonly #given = new Set<string>();
  /** How often each name was wanted. */
  readonly #times = new Map<string, number>();

  of(title: string | undefined): string {
    const clean = (title ?? '')
      .replace(/\.\w{1,5}$/, '')
      .replaceAll(/[^\p{L}\p{N}\s()[\]-]/gu, ' ')
      .replaceAll(/[^\x20-\x7e]+/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim()
      .slice(0, MAX_NAME_LENGTH)
      .trim();
    const wanted = clean === '' ? DEFAULT_NAME : clean;
    let name = wanted;
    let times = this.#times.get(wanted) ?? 1;
    for (; this.#given.has(name); name = `${wanted} ${times}`) times += 1;
    this.#times.set(wanted, times);
    this.#given.add(name);
    return name;
  }
}

/** What the blocks of one request are made with. */
export interface BlockEncoder extends Encoder {
  readonly documents: DocumentNames;
}

/** A document as one block. One that the caller wrote in parts is text and images, which `inParts` makes, unless Claude is to cite it. */
export function encodeDocument(
  part: DocumentPart,
  encoder: BlockEncoder,
  inParts: (
    parts: readonly Extract<DocumentPart['source'], { type: 'content' }>['parts'][number][],
  ) => Block[],
): Block[] {
  const { title, context, at = [] } = part;
  const source =
    part.source.type === 'url'
      ? ({ type: 'base64', ...encoder.media.of('document', part.source.url, at) } as const)
      : part.source;
  const isCited = part.citations === true && encoder.target.vendor === 'anthropic';
  if (!isCited) dropCitations(part, encoder);
  const named = (format: string, content: object): Block[] => {
    const name = encoder.documents.of(title);
    const more = { ...(context && { context }), ...(isCited && { citations: { enabled: true } }) };
    return [{ document: { format, name, source: content, ...more } }];
  };
  switch (source.type) {
    case 'text':
      return source.text.trim() === ''
        ? []
        : named('txt', { bytes: Buffer.from(source.text).toString('base64') });
    case 'content': {
      const texts = source.parts.flatMap((inner) => (inner.type === 'text' ? [{ text: inner.text }] : []));
      if (isCited && texts.length === source.parts.length) return named('txt', { content: texts });
      if (isCited) dropCitations(part, encoder);
      const heading = documentText(part, '').trim();
      return [...(heading === '' ? [] : [{ text: heading }]), ...inParts(source.parts)];
    }
    case 'base64': {
      const format = FORMATS[source.mediaType] ?? (READABLE.test(source.mediaType) ? 'txt' : undefined);
      if (format === undefined)
        refuseParameter(
          at,
          `Files of type '${source.mediaType}' are not supported: use PDF, Word, Excel, CSV, HTML, Markdown or text.`,
        );
      return named(format, { bytes: source.data });
    }
    case 'file':
      return refuseParameter(
        at,
        'A file id is known to the provider that made it only. Send the content instead.',
      );
  }
}
