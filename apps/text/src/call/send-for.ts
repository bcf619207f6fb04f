import { endedRequest } from '@gateway/service-kit/ended-request';
import { CallerLeft, type RequestContext } from '@gateway/service-kit/request-context';
import type { Reply } from '@gateway/upstream/reply';
import type { SendOptions } from '@gateway/upstream/send';
import type { Upstream } from '@gateway/upstream/upstream';
import { attemptNotes, noteReply } from './call-notes.ts';

/** Sends under a request's signal, and notes on its log line how that went. */
export async function sendFor(
  context: RequestContext,
  upstream: Pick<Upstream, 'send'>,
  options: Omit<SendOptions, 'work' | 'signal' | 'onAttempt'>,
): Promise<Reply> {
  const { signal } = context;
  try {
    const reply = await upstream.send({ ...options, work: 'free', signal, onAttempt: attemptNotes(context) });
    noteReply(context, reply);
    return reply;
  } catch (error) {
    throw signal.reason instanceof CallerLeft ? error : (endedRequest(context) ?? error);
  }
}
