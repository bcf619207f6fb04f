import { typedData } from '@gateway/contracts/event-stream/frame-data';
import { createFrameReader, type Frame, FrameTooLarge } from '@gateway/contracts/event-stream/frame-reader';
import { END_MARK } from '@gateway/contracts/event-stream/stream-events';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { parseJson } from '@gateway/contracts/json/json-depth';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { TranscriptDone } from '@gateway/contracts/openai/transcriptions';
import type { StreamHead } from '@gateway/model-service/jobs/stream-head';
import { chunksUntilWhole } from '@gateway/model-service/stream/relayed-stream';
import { attemptsHeader } from '@gateway/upstream/replies/attempts-header';
import { type Reply, UnreadableReply } from '@gateway/upstream/replies/reply';
import { z } from 'zod';
import { isErrorEvent, MAX_FRAME_BYTES, typedText } from '../../event-frames.ts';
import { deltaFrames, doneFrame } from './transcript-events.ts';

const DONE = 'transcript.text.done';

/**
 * Emits the upstream's event stream as it comes, whole events only, to the caller who waits. Resolves to its last event.
 *
 * @throws {GatewayError} when it breaks, reports an error, or ends without its last event
 */
export async function relayDeltas(
  reply: Reply,
  emit: (...texts: string[]) => Promise<void>,
): Promise<TranscriptDone> {
  const head: StreamHead = {
    channel: reply.candidate.channel.name,
    dropped: [...reply.dropped],
    attemptList: attemptsHeader(reply.attempts) ?? undefined,
  };
  await emit(JSON.stringify(head));
  let done: TranscriptDone | undefined;
  let isMarkedEnded = false;
  /** What may hold the text, if the last event does not. */
  const deltas: string[] = [];
  const reader = createFrameReader({ maxFrameBytes: MAX_FRAME_BYTES });

  /** Emits frames in one piece, as far as they are no error. */
  const pass = async (frames: readonly Frame[]) => {
    const failed = frames.find(({ latin1 }) => isErrorEvent(latin1));
    for (const frame of frames) {
      const data = typedData(frame) ?? frame.data;
      if (data === null) continue;
      isMarkedEnded ||= data === END_MARK;
      if (data.includes(DELTA)) deltas.push(data);
      done ??= doneEvent(data, deltas);
    }
    // A text that came in the last event only is heard by those who follow the deltas too.
    if (done !== undefined && !deltas.some(isDelta)) {
      await emit(...deltaFrames({ text: done.text }, 'json'));
      deltas.push(HEARD);
    }
    // Clients read no further than the mark, so that what is missing comes in its place.
    const mark = done === undefined ? frames.find(({ data }) => data === END_MARK) : undefined;
    const end = failed?.start ?? mark?.start ?? Number.POSITIVE_INFINITY;
    const passed = frames.filter(({ start }) => start < end);
    if (passed.length > 0) await emit(...passed.map(textOfFrame));
    if (failed)
      throw new GatewayError('upstream_failed', {
        message: 'The upstream ended its transcript with an error.',
        source: 'upstream',
      });
  };

  try {
    const rest = () => (done === undefined && !isMarkedEnded ? 'wanted' : 'ending');
    for await (const chunk of chunksUntilWhole(reply, rest)) await pass(reader.push(chunk));
    // A last frame without its blank line counts if it can be read.
    const last = reader.end();
    if (last !== null && isEnd(typedData(last) ?? last.data ?? '', deltas)) await pass([last]);
  } catch (error) {
    if (!(error instanceof FrameTooLarge)) throw error;
    throw new UnreadableReply('The upstream sent an event that is too large to pass on.', { cause: error });
  }
  // Some servers mark the end without saying the whole text again.
  if (done === undefined && isMarkedEnded && deltas.length > 0) {
    done = { type: DONE, text: textOf(deltas) };
    await emit(...(deltas.some(isDelta) ? [] : deltaFrames(done, 'json')), doneFrame(done));
  }
  if (done === undefined) throw new UnreadableReply('The upstream ended its transcript too early.');
  return done;
}

const textOfFrame = (frame: Frame): string =>
  typedText(frame) ?? frame.bytes.toString('utf8', frame.start, frame.end);

const isEnd = (data: string, deltas: readonly string[]): boolean =>
  data === END_MARK || doneEvent(data, deltas) !== undefined;

/** What is looked for in events that may hold a part of the text. */
const DELTA = '"delta"';
const isDelta = (data: string): boolean => data.includes('transcript.text.delta');
/** Stands for a delta of our own. */
const HEARD = '"transcript.text.delta"';

/** An event's part of the text, in the words of the protocol or in those of chat, which some servers use. */
const Delta = z.union([
  z.object({ delta: z.string() }).transform(({ delta }) => delta),
  z
    .object({ choices: z.array(z.object({ delta: z.object({ content: z.string() }) })).min(1) })
    .transform(({ choices }) => choices.map(({ delta }) => delta.content).join('')),
]);

const textOf = (deltas: readonly string[]): string =>
  deltas.map((data) => Delta.safeParse(jsonIn(data, parseJson)).data ?? '').join('');

/** The last event; its text is that of the deltas where it has none. */
function doneEvent(data: string, deltas: readonly string[]): TranscriptDone | undefined {
  if (!data.includes(DONE)) return undefined;
  const event = Done.safeParse(jsonIn(data, parseJson)).data;
  return event && { ...event, text: event.text ?? textOf(deltas) };
}

const Done = TranscriptDone.extend({
  text: TranscriptDone.shape.text.optional().catch(undefined),
  usage: TranscriptDone.shape.usage.catch(undefined),
});
