import type { IncomingHttpHeaders } from 'node:http';

/** The beta value that every request of a message thread carries. */
export const THREADS_BETA = 'message-threads-2026-08-12';

/** Each once, however many headers name them. */
export function betasOf(headers: IncomingHttpHeaders): readonly string[] {
  const value = headers['anthropic-beta'] ?? '';
  const names = (Array.isArray(value) ? value.join(',') : value).split(',').map((name) => name.trim());
  return [...new Set(names.filter((name) => name !== ''))];
}
