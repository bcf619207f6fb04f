import type { NewRecord, WindowEnd } from '../../stored/conversations/conversation-store.ts';
import type { TextCall } from '../request/text-call.ts';

interface NewResponse extends Pick<NewRecord, 'id' | 'input' | 'output' | 'data' | 'received'> {
  /** The conversation's end that the input follows; null for none, or where it is not known yet. */
  readonly after: WindowEnd | null;
}

/**
 * Puts a call's response into the store, as the continuation of the one before it, by the configuration's bounds. Never
 * rejects. Resolves to whether it is stored; where not, the metric and the log line tell so.
 */
export async function putResponse(
  { services, history, context }: Pick<TextCall, 'services' | 'history' | 'context'>,
  { after, ...response }: NewResponse,
): Promise<boolean> {
  const { retentionMs, maxBytesPerKey } = services.upstream.configuration.conversations;
  const result = await services.conversations
    .put({
      ...response,
      owner: history.owner,
      kind: 'response',
      ...(history.previous !== null && { previous: history.previous.id }),
      ...(after !== null && { after }),
      retentionMs,
      maxBytes: maxBytesPerKey,
    })
    .catch(() => 'failed' as const);
  services.metrics.kept(result);
  if (result !== 'stored') context.line.responseKept = false;
  return result === 'stored';
}
