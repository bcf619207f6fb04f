import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { ExpressAdapter } from '@bull-board/express';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Queue } from 'bullmq';
import type { RequestHandler } from 'express';

export const JOB_BOARD_PATH = '/admin/board';

/** It asks nobody else for anything, such as the fonts that it would like, and stands in nobody's frame. */
const SAFETY = new Headers({
  'content-security-policy':
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
});

/**
 * A page on which people look at the queues. It only shows: what it could do by itself, such as trying a paid job again, knows
 * nothing of what may have been done and paid for.
 */
export function createJobBoard(queues: readonly Queue[]): RequestHandler {
  const server = new ExpressAdapter();
  server.setBasePath(JOB_BOARD_PATH);
  createBullBoard({
    queues: queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })),
    serverAdapter: server,
    options: { uiConfig: { boardTitle: 'Jobs' } },
  });
  const router: RequestHandler = server.getRouter();
  return (request, response, next) => {
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new GatewayError('method_not_allowed', {
        message: `Not allowed to ${request.method} here: the board only shows. Use npm run gateway -- jobs requeue ID.`,
        headers: { allow: 'GET, HEAD' },
      });
    response.setHeaders(SAFETY);
    router(request, response, next);
  };
}

const BASIC = /^basic +(\S+) *$/i;

/**
 * The header by which a browser logs in, as one with the token: the password is the token, whatever the name.
 * Anything else is left as it is.
 */
export function bearerOf(authorization: string | undefined): string | undefined {
  const credentials = BASIC.exec(authorization ?? '')?.[1];
  if (credentials === undefined) return authorization;
  const text = Buffer.from(credentials, 'base64').toString();
  return `Bearer ${text.slice(text.indexOf(':') + 1)}`;
}
