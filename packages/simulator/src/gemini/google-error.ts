import type { ProviderError } from '../replies/provider-error.ts';

/** Google's words for a status. */
const WORDS: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

export const isGoogle = (path: string): boolean => path.startsWith('/v1beta/');

/** An error in the body of Google's APIs. */
export const googleError = ({ status, message, options }: ProviderError): object => ({
  error: {
    code: status,
    message,
    status: WORDS[status] ?? 'INTERNAL',
    ...(options.details && { details: [options.details] }),
  },
});
