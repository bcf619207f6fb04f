import { ProviderError } from '../replies/provider-error.ts';

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

/** The Gemini API: its previews, and of its version 1 what OpenAI's paths do not have. */
const GOOGLE = /^\/v1beta\/|^\/v1\/models\/[^/]+:[A-Za-z]+$/;

export const isGoogle = (path: string): boolean => GOOGLE.test(path);

/** A key that Google does not know is a 400. */
export const invalidKey = (): ProviderError =>
  new ProviderError({
    status: 400,
    message: 'API key not valid. Please pass a valid API key.',
    details: {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: 'API_KEY_INVALID',
      domain: 'googleapis.com',
    },
  });

/** An error in the body of Google's APIs. */
export const googleError = ({ status, message, options }: ProviderError): object => ({
  error: {
    code: status,
    message,
    status: WORDS[status] ?? 'INTERNAL',
    ...(options.details && { details: [options.details] }),
  },
});
