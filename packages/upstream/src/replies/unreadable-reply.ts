import { GatewayError, type GatewayErrorOptions } from '@gateway/contracts/gateway-error';
import type { Reply } from './reply.ts';

/** What a provider sent as a success turned out to be no answer when it was read. Counts as a failure of its channel. */
export class UnreadableReply extends GatewayError {
  constructor(message: string, more: Pick<GatewayErrorOptions, 'retry' | 'cause'> = {}) {
    super('upstream_failed', { message, source: 'upstream', ...more });
  }
}

/** Does what reads a reply. @throws what it throws; an `UnreadableReply` is counted first */
export async function readCounted<Result>(reply: Reply, read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof UnreadableReply) reply.unreadable(error.message);
    throw error;
  }
}
