import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Queue } from 'bullmq';
import type { RequestHandler } from 'express';

export const JOB_BOARD_PATH = '/admin/board';

/** It loads nothing from other servers, such as the fonts that it would like, and is in no other page's frame. */
const SAFETY = {
  'content-security-policy':
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

/**
 * A page on which people look at the queues. It only shows: what it could do by itself, such as trying a paid job again, knows
 * nothing of what may have been done and paid for.
 */
export function createJobBoard(queues: readonly Queue[]): RequestHandler {
  let opening: Promise<RequestHandler> | undefined;
  return async (request, response, next) => {
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new GatewayError('method_not_allowed', {
        message: `Not allowed to ${request.method} here: the board only shows. Use npm run gateway -- jobs requeue ID.`,
        headers: { allow: 'GET, HEAD' },
      });
    response.set(SAFETY);
    opening ??= openBoard(queues);
    const board = await opening;
    board(request, response, next);
  };
}

/** Loads the board's packages: an instance whose board nobody opens does without their memory. */
async function openBoard(queues: readonly Queue[]): Promise<RequestHandler> {
  const [{ createBullBoard }, { BullMQAdapter }, { ExpressAdapter }] = await Promise.all([
    import('@bull-board/api'),
    import('@bull-board/api/bullMQAdapter'),
    import('@bull-board/express'),
  ]);
  const server = new ExpressAdapter();
  server.setBasePath(JOB_BOARD_PATH);
  createBullBoard({
    queues: queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })),
    serverAdapter: server,
    options: { uiConfig: { boardTitle: 'Jobs' } },
  });
  return server.getRouter();
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
