import { GatewayError } from '@gateway/contracts/gateway-error';
import { parseJson } from '@gateway/contracts/json/json-depth';
import { TranscriptDone } from '@gateway/contracts/openai/transcriptions';
import { createFrameReader, type Frame, FrameTooLarge } from '@gateway/service-kit/event-stream/frame-reader';
import { attemptsHeader } from '@gateway/upstream/replies/attempts-header';
import { type Reply, UnreadableReply } from '@gateway/upstream/replies/reply';
import { isErrorEvent, MAX_FRAME_BYTES } from '../../event-frames.ts';
import { piecesOf, type StreamHead } from './stream-message.ts';

const DONE = 'transcript.text.done';

/**
 * Emits the upstream's event stream as it comes, whole events only, to the caller who waits. Resolves to its last event.
 *
 * @throws {GatewayError} when it breaks, reports an error, or ends without its last event
 */
export async function relayDeltas(
  reply: Reply,
  emit: (text: string) => Promise<void>,
): Promise<TranscriptDone> {
  const head: StreamHead = {
    channel: reply.candidate.channel.name,
    dropped: [...reply.dropped],
    attemptList: attemptsHeader(reply.attempts) ?? undefined,
  };
  await emit(JSON.stringify(head));
  let done: TranscriptDone | undefined;
  const reader = createFrameReader({ maxFrameBytes: MAX_FRAME_BYTES });

  /** Emits frames in one piece, as far as they are no error. */
  const pass = async (frames: readonly Frame[]) => {
    const [first] = frames;
    if (first === undefined) return;
    const failed = frames.find(({ latin1 }) => isErrorEvent(latin1));
    const end = failed?.start ?? frames.at(-1)?.end;
    for (const { data } of frames) done = doneEvent(data ?? '') ?? done;
    for (const piece of piecesOf(first.bytes.toString('utf8', first.start, end))) await emit(piece);
    if (failed)
      throw new GatewayError('upstream_failed', {
        message: 'The upstream ended its transcript with an error.',
        source: 'upstream',
      });
  };

  try {
    for await (const chunk of reply.body) await pass(reader.push(chunk));
    // A last frame without its blank line counts if it can be read.
    const last = reader.end();
    if (last !== null && doneEvent(last.data ?? '') !== undefined) await pass([last]);
  } catch (error) {
    if (!(error instanceof FrameTooLarge)) throw error;
    throw new UnreadableReply('The upstream sent an event that is too large to pass on.', { cause: error });
  }
  if (done === undefined) throw new UnreadableReply('The upstream ended its transcript too early.');
  return done;
}

function doneEvent(data: string): TranscriptDone | undefined {
  if (!data.includes(DONE)) return undefined;
  return TranscriptDone.safeParse(jsonIn(data)).data;
}

function jsonIn(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
