import type { Call } from './call.ts';
import type { ProviderError } from './provider-error.ts';
import type { Reply } from './reply.ts';

/** An error in the body shape of the endpoint that was called. */
export const errorReply = (
  error: ProviderError,
  { dialect, requestId }: Pick<Call, 'dialect' | 'requestId'>,
): Reply => {
  const body =
    dialect === 'anthropic'
      ? { type: 'error', error: error.anthropicError(), request_id: requestId }
      : { error: error.openaiError() };
  return {
    status: error.status,
    contentType: 'application/json',
    chunks: [JSON.stringify(body)],
    isStream: false,
    ...(error.options.headers && { headers: error.options.headers }),
  };
};
