import { GatewayError } from '@gateway/contracts/gateway-error';
import type { RerankRequest } from '@gateway/contracts/rerank';

/** The documents as texts. @throws {GatewayError} `invalid_value` for an object that has none of the fields to read */
export const documentTexts = ({ documents, rank_fields: fields }: RerankRequest): readonly string[] =>
  documents.map((document, at) => {
    if (typeof document === 'string') return document;
    const text = fields ? fieldsOf(document, fields) : document.text;
    if (typeof text === 'string') return text;
    throw new GatewayError('invalid_value', {
      path: ['documents', at],
      message: `Invalid 'documents[${at}]': expected a text, an object with 'text', or one with a field that 'rank_fields' names.`,
    });
  });

/** `title: …` and so on, each on a line of its own; null where it has none of them. */
function fieldsOf(document: Readonly<Record<string, unknown>>, fields: readonly string[]): string | null {
  const lines = fields.flatMap((name) => {
    const value = Object.hasOwn(document, name) ? document[name] : undefined;
    return typeof value === 'string' || typeof value === 'number' ? [`${name}: ${value}`] : [];
  });
  return lines.length === 0 ? null : lines.join('\n');
}
