import type { IncomingMessage } from 'node:http';

/** Whether the caller wants an error rather than have something left out. */
export const isStrict = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  headers['x-gateway-strict'] === 'true';
