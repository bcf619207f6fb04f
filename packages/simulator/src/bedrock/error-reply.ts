import type { ProviderError } from '../replies/provider-error.ts';
import type { Reply } from '../replies/reply.ts';

/** The names that Bedrock has for its errors, by their statuses. */
const NAMES: Readonly<Record<number, string>> = {
  401: 'UnrecognizedClientException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  408: 'ModelTimeoutException',
  424: 'ModelErrorException',
  429: 'ThrottlingException',
  500: 'InternalServerException',
  503: 'ServiceUnavailableException',
  529: 'ServiceUnavailableException',
};
const OTHER = 'ValidationException';
/** Statuses that AWS does not use. */
const STATUSES: Readonly<Record<number, number>> = { 401: 403, 529: 503 };

/** An error as AWS writes it: its name in a header, its message in the body. */
export const awsErrorReply = (error: ProviderError): Reply => ({
  status: STATUSES[error.status] ?? error.status,
  contentType: 'application/json',
  chunks: [JSON.stringify({ message: error.message })],
  isStream: false,
  headers: {
    'x-amzn-errortype': `${NAMES[error.status] ?? OTHER}:http://internal.amazon.com/coral/`,
    ...error.options.headers,
  },
});
