import { dataOf } from '@gateway/contracts/event-stream/frame-data';
import { createFrameReader, type Frame } from '@gateway/contracts/event-stream/frame-reader';
import { END_MARK } from '@gateway/contracts/event-stream/stream-events';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { chunksUntilWhole } from '@gateway/model-service/stream/relayed-stream';
import type { Reply } from '@gateway/upstream/replies/reply';
import type { Part } from '../call/accounting/broken-answer.ts';
import { isLarge } from '../large/shared-bytes.ts';
import { PROTOCOLS } from '../protocols/protocols.ts';
import { isJsonObject, parseBody } from '../wire/raw-json.ts';
import { upstreamCutOff, upstreamNonsense } from '../wire/read-upstream.ts';
import type { EventCollector } from '../wire/stream/event-collector.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import { explainFor } from './passed-stream.ts';

/** An answer is held whole; beyond this it is the upstream's failure. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

interface CollectOptions {
  /** How many were requested. */
  readonly answers: number;
  /** Does in the thread what `collectEvents` does. */
  readonly collectLarge: (bytes: Buffer) => Promise<Buffer | null>;
  /** Called where it is no answer, with what has come of it. */
  readonly onBroken: (part: Part, error: GatewayError) => void;
}

/**
 * The whole reply that an upstream's stream amounts to, with every member, for a caller of the same protocol who does not
 * stream: some servers stream whatever they are asked for.
 *
 * @throws {GatewayError} where the stream reports a failure, or is no whole answer
 */
export async function collectPassed(
  protocol: TextProtocol,
  reply: Reply,
  { answers, collectLarge, onBroken }: CollectOptions,
): Promise<Buffer> {
  const { createStreamReader, createEventCollector } = PROTOCOLS[protocol];
  const reader = createStreamReader({ hidesUsage: false, answers });
  const collector = createEventCollector();
  const chunks: Buffer[] = [];
  const frames = createFrameReader({ maxFrameBytes: MAX_ANSWER_BYTES });
  const take = (frame: Frame) => {
    reader.frame(frame);
    if (reader.reportedFailure !== null) throw explainFor(reply)(dataOf(frame) ?? '');
    if (!isLarge(sizeBytes)) takeInto(collector, frame);
  };
  let sizeBytes = 0;
  try {
    for await (const chunk of chunksUntilWhole(reply, () => reader.rest)) {
      sizeBytes += chunk.length;
      if (sizeBytes > MAX_ANSWER_BYTES) throw new Error('an answer beyond the bound');
      chunks.push(chunk);
      for (const frame of frames.push(chunk)) take(frame);
    }
    const last = frames.end();
    if (last !== null) take(last);
    const whole = () => (isLarge(sizeBytes) ? collectLarge(Buffer.concat(chunks)) : written(collector));
    const body = reader.mayEnd ? await whole() : null;
    if (body === null) throw upstreamCutOff();
    return body;
  } catch (cause) {
    const error = cause instanceof GatewayError ? cause : upstreamNonsense(cause);
    onBroken(reader, error);
    throw error;
  }
}

function takeInto(collector: EventCollector, frame: Frame): void {
  const data = dataOf(frame);
  const event = data === null || data === END_MARK ? null : parseBody(data);
  if (isJsonObject(event)) collector.take(event, data ?? '');
}

function written(collector: EventCollector): Buffer | null {
  const body = collector.body();
  return body && Buffer.from(JSON.stringify(body));
}

/** The whole reply that a finished stream amounts to; null where it is none. */
export function collectEvents(protocol: TextProtocol, bytes: Buffer): Buffer | null {
  const collector = PROTOCOLS[protocol].createEventCollector();
  const frames = createFrameReader({ maxFrameBytes: MAX_ANSWER_BYTES });
  for (const frame of frames.push(bytes)) takeInto(collector, frame);
  const last = frames.end();
  if (last !== null) takeInto(collector, last);
  return written(collector);
}
