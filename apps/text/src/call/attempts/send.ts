import { CallerLeft, endedRequest, type RequestContext } from '@gateway/service-kit/request/request-context';
import type { Attempt, Reply } from '@gateway/upstream/replies/reply';
import type { SendOptions } from '@gateway/upstream/sending/send';
import type { Upstream } from '@gateway/upstream/upstream';
import { logAttempt, logReply } from '../accounting/call-log.ts';

/** Sends one request under a call's signal, and logs its attempts. */
export async function send(
  context: RequestContext,
  upstream: Pick<Upstream, 'send'>,
  options: Omit<SendOptions, 'work' | 'signal' | 'onAttempt' | 'trace'>,
): Promise<Reply> {
  const { signal, trace } = context;
  const onAttempt = (attempt: Attempt, all: readonly Attempt[]) => logAttempt(context, attempt, all.length);
  try {
    const reply = await upstream.send({ ...options, work: 'free', signal, onAttempt, trace });
    logReply(context, reply);
    return reply;
  } catch (error) {
    throw sendError(context, error);
  }
}

/** Why sending under a call's signal failed: where the gateway ended the call, the end is the reason. */
export const sendError = (context: RequestContext, error: unknown): unknown =>
  context.signal.reason instanceof CallerLeft ? error : (endedRequest(context) ?? error);
