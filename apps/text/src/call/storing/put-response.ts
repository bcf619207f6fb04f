import type { NewRecord, PutResult, WindowEnd } from '../../stored/store/conversation-store.ts';
import type { TextCall } from '../request/text-call.ts';

interface NewResponse extends Pick<NewRecord, 'id' | 'input' | 'output' | 'data' | 'received' | 'writer'> {
  /** The end of the conversation that the input follows; null: none, or not known yet. */
  readonly after: WindowEnd | null;
}

/**
 * Stores a call's response as the continuation of the one before it, within the configured bounds, and reports in the metric
 * and the log line whether it is stored. Never rejects.
 */
export async function putResponse(
  { services, history, context }: Pick<TextCall, 'services' | 'history' | 'context'>,
  { after, ...response }: NewResponse,
): Promise<PutResult | 'failed'> {
  const { retentionMs, maxBytesPerKey } = services.upstream.configuration.conversations;
  const { continued } = history;
  const result = await services.conversations
    .put({
      ...response,
      owner: history.owner,
      kind: 'response',
      ...(continued?.kind === 'response' && continued.isStored && { previous: continued.id }),
      ...(after !== null && { after }),
      retentionMs,
      maxBytes: maxBytesPerKey,
    })
    .catch(() => 'failed' as const);
  services.metrics.stored(result);
  if (result !== 'stored') context.line.responseKept = false;
  return result;
}
