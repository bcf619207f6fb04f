import { GatewayError } from '@gateway/contracts/gateway-error';
import type { RequestTrace } from '@gateway/contracts/trace/request-trace';
import type { Candidate } from '@gateway/upstream/candidate';
import type { DiscardedReply } from '@gateway/upstream/failures/failure';
import { checkMediaReply, type OutputCheck } from '@gateway/upstream/first-output/check-first-output';
import { type Attempt, type Reply, UnreadableReply } from '@gateway/upstream/replies/reply';
import type { Upstream } from '@gateway/upstream/upstream';
import type { Prepared } from './generation-request.ts';

/** Ten images of the largest size, in base64. */
export const MAX_REPLY_BYTES = 400 * 1024 * 1024;

export type Prepare = (candidate: Candidate) => Prepared | GatewayError | Promise<Prepared | GatewayError>;

interface AskOptions {
  readonly upstream: Upstream;
  readonly candidates: readonly Candidate[];
  /** An error is the reason why this candidate cannot be called. */
  readonly prepare: Prepare;
  readonly streamed: boolean;
  readonly signal: AbortSignal;
  readonly trace: RequestTrace | undefined;
  readonly onAttempt: (attempt: Attempt) => void;
  readonly onDiscarded: (reply: DiscardedReply) => void;
}

/** Calls the candidates for images, until one begins to answer. Paid work: none is called after one may have begun. */
export async function requestImages({
  upstream,
  candidates,
  prepare,
  streamed,
  signal,
  trace,
  onAttempt,
  onDiscarded,
}: AskOptions): Promise<{ reply: Reply; dropped: readonly string[] }> {
  let dropped: readonly string[] = [];
  const reply = await upstream.send({
    candidates,
    request: async (candidate) => {
      const prepared = await prepare(candidate);
      if (prepared instanceof GatewayError) return prepared;
      dropped = prepared.dropped;
      return prepared.request;
    },
    dialect: 'openai',
    work: 'paid',
    streamed,
    signal,
    trace,
    checkOutput: checkImages,
    onAttempt,
    onDiscarded,
  });
  return { reply, dropped: [...new Set([...dropped, ...reply.dropped])] };
}

/** A 200 with broken JSON was paid for: no other provider may be called. */
const checkImages: OutputCheck = (first) => {
  const verdict = checkMediaReply(first);
  const isJson = first.headers['content-type']?.startsWith('application/json') ?? false;
  return typeof verdict === 'object' && 'broken' in verdict && isJson ? 'accept' : verdict;
};

/** The images were probably made and billed, but cannot be had. */
export const badReply = (message: string, cause?: unknown): UnreadableReply =>
  new UnreadableReply(message, { retry: false, cause });
