import { GatewayError } from '@gateway/contracts/gateway-error';
import { parseJson } from '@gateway/contracts/json-depth';
import { TranscriptDone } from '@gateway/contracts/openai/transcriptions';
import type { Reply } from '@gateway/upstream/reply';
import { createEventReader } from '../event-stream/event-reader.ts';
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
  const head: StreamHead = { channel: reply.candidate.channel.name };
  await emit(JSON.stringify(head));
  let done: TranscriptDone | undefined;
  const reader = createEventReader((data) => {
    done = doneEvent(data) ?? done;
  });

  const pass = async (block: string) => {
    const failure = block.includes('error') ? ERROR_EVENT.exec(block) : null;
    for (const piece of piecesOf(failure ? block.slice(0, failure.index) : block)) await emit(piece);
    if (failure) throw broken('The upstream ended its transcript with an error.');
  };

  for await (const chunk of reply.body) {
    const block = reader.push(chunk);
    if (block) await pass(block.toString());
  }
  // A last frame without its blank line counts if it can be read.
  const last = reader.push(Buffer.from('\n\n'));
  if (done !== undefined && last?.includes(DONE)) await pass(last.toString());
  if (done === undefined) throw broken('The upstream ended its transcript too early.');
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

const broken = (message: string) => new GatewayError('upstream_failed', { message, source: 'upstream' });
