import { GatewayError } from '@gateway/contracts/gateway-error';
import type { IdKind } from '../../stored/origins/id-origins.ts';
import type { NamedId } from '../../stored/origins/named-ids.ts';
import { threadNotFound } from './threads/thread-errors.ts';

/** As the providers write it. */
const NOUNS: Readonly<Record<IdKind, string>> = {
  response: 'Response',
  item: 'Item',
  conversation: 'Conversation',
  message: 'Message',
  container: 'Container',
  audio: 'Audio',
  compaction: 'Compaction',
};

/** The error for an id that is not known to the caller's key: unknown, expired, removed and another key's look the same. */
export function notFound({ kind, id, path }: Pick<NamedId, 'kind' | 'id' | 'path'>): GatewayError {
  if (path[0] === 'previous_response_id') return previousNotFound(id, path);
  if (kind === 'compaction') return unreadableCompaction(path);
  const message = `${NOUNS[kind]} with id '${id}' not found.`;
  if (path[0] === 'thread') return threadNotFound(id);
  return new GatewayError('object_not_found', { path: kind === 'item' ? ['input'] : [...path], message });
}

/** The error for a compaction that cannot be read: altered, of another key, or made elsewhere. */
export const unreadableCompaction = (path: NamedId['path']): GatewayError =>
  new GatewayError('invalid_compaction', {
    path: [...path],
    message:
      'This compaction could not be verified: it was altered, made for another key, or by a provider that does not serve this model. Send the conversation itself.',
  });

/** The error for an earlier response that is gone. */
export const previousNotFound = (id: string, path: NamedId['path']): GatewayError =>
  new GatewayError('previous_response_not_found', {
    path: [...path],
    message: `Previous response with id '${id}' not found.`,
  });
