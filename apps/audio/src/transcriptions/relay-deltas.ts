import { GatewayError } from '@gateway/contracts/gateway-error';
import { TranscriptDone } from '@gateway/contracts/openai/transcriptions';
import type { Reply } from '@gateway/upstream/reply';
import { FrameSplitter } from '../event-stream/frame-splitter.ts';
import { piecesOf, type StreamHead } from './stream-message.ts';

const DONE = 'transcript.text.done';
/** How an upstream itself says that it broke. */
const ERROR_EVENT = /^event: ?error\b|^data: ?\{"(?:type": ?"error"|error":)/m;

/**
 * Emits the upstream's event stream as it comes, whole events only, to the caller who waits. Resolves to its last event.
 *
 * @throws {GatewayError} when it breaks, reports an error, or ends without its last event
 */
export async function relayDeltas(
  reply: Reply,
  emit: (text: string) => Promise<void>,
): Promise<TranscriptDone> {
  const splitter = new FrameSplitter();
  const head: StreamHead = { channel: reply.candidate.channel.name };
  await emit(JSON.stringify(head));
  let done: TranscriptDone | undefined;

  const pass = async (block: string) => {
    const failure = block.includes('error') ? ERROR_EVENT.exec(block) : null;
    for (const piece of piecesOf(failure ? block.slice(0, failure.index) : block)) await emit(piece);
    if (failure) throw broken('The upstream ended its transcript with an error.');
    if (block.includes(DONE)) done = doneEvent(block) ?? done;
  };

  for await (const chunk of reply.body) {
    const block = splitter.push(chunk);
    if (block) await pass(block.toString());
  }
  // A last frame without its blank line counts if it can be read.
  const rest = splitter.rest.toString();
  if (doneEvent(rest)) await pass(`${rest.trimEnd()}\n\n`);
  if (done === undefined) throw broken('The upstream ended its transcript too early.');
  return done;
}

function doneEvent(block: string): TranscriptDone | undefined {
  for (const line of block.split(/\r\n|\n|\r/)) {
    if (!line.startsWith('data:') || !line.includes(DONE)) continue;
    const event = TranscriptDone.safeParse(jsonIn(line.slice('data:'.length)));
    if (event.success) return event.data;
  }
  return undefined;
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const broken = (message: string) => new GatewayError('upstream_failed', { message, source: 'upstream' });
