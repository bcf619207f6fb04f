import { CallerLeft, endedRequest, type RequestContext } from '@gateway/service-kit/request/request-context';
import type { Attempt, Reply } from '@gateway/upstream/replies/reply';
import type { SendOptions } from '@gateway/upstream/sending/send';
import type { Upstream } from '@gateway/upstream/upstream';
import { logAttempt, logReply } from '../accounting/call-log.ts';

/** Sends under a request's signal, and logs its attempts. */
export async function send(
  context: RequestContext,
  upstream: Pick<Upstream, 'send'>,
  options: Omit<SendOptions, 'work' | 'signal'>,
): Promise<Reply> {
  const { signal } = context;
  let count = 0;
  const onAttempt = (attempt: Attempt) => {
    count += 1;
    logAttempt(context, attempt, count);
    options.onAttempt?.(attempt);
  };
  try {
    const reply = await upstream.send({ ...options, work: 'free', signal, onAttempt });
    logReply(context, reply);
    return reply;
  } catch (error) {
    throw signal.reason instanceof CallerLeft ? error : (endedRequest(context) ?? error);
  }
}
