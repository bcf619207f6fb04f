import { dataOf } from '@gateway/contracts/event-stream/frame-data';
import { createFrameReader } from '@gateway/contracts/event-stream/frame-reader';
import { END_MARK } from '@gateway/contracts/event-stream/stream-events';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { chunksUntilWhole } from '@gateway/model-service/stream/relayed-stream';
import type { Reply } from '@gateway/upstream/replies/reply';
import type { Part } from '../call/accounting/broken-answer.ts';
import { PROTOCOLS } from '../protocols/protocols.ts';
import { isJsonObject, parseBody } from '../wire/raw-json.ts';
import { upstreamCutOff, upstreamNonsense } from '../wire/read-upstream.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import { explainFor } from './passed-stream.ts';

/** An answer is held whole; beyond this it is the upstream's failure. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * The whole reply that an upstream's stream amounts to, with every member, for a caller of the same protocol who does not
 * stream: some servers stream whatever they are asked for.
 *
 * @param answers how many were requested
 * @param onBroken called where it is none, with what has come of it
 * @throws {GatewayError} where the stream reports a failure, or is no whole answer
 */
export async function collectPassed(
  protocol: TextProtocol,
  reply: Reply,
  answers: number,
  onBroken: (part: Part, error: GatewayError) => void,
): Promise<Buffer> {
  const { createStreamReader, createEventCollector } = PROTOCOLS[protocol];
  const reader = createStreamReader({ hidesUsage: false, answers });
  const collector = createEventCollector();
  const frames = createFrameReader({ maxFrameBytes: MAX_ANSWER_BYTES });
  const take = (frame: Parameters<typeof reader.frame>[0]) => {
    const data = dataOf(frame);
    reader.frame(frame);
    if (reader.reportedFailure !== null) throw explainFor(reply)(data ?? '');
    const event = data === null || data === END_MARK ? null : parseBody(data);
    if (isJsonObject(event)) collector.take(event, data ?? '');
  };
  let sizeBytes = 0;
  try {
    for await (const chunk of chunksUntilWhole(reply, () => reader.rest)) {
      sizeBytes += chunk.length;
      if (sizeBytes > MAX_ANSWER_BYTES) throw new Error('an answer beyond the bound');
      for (const frame of frames.push(chunk)) take(frame);
    }
    const last = frames.end();
    if (last !== null) take(last);
    const body = reader.mayEnd ? collector.body() : null;
    if (body === null) throw upstreamCutOff();
    return Buffer.from(JSON.stringify(body));
  } catch (cause) {
    const error = cause instanceof GatewayError ? cause : upstreamNonsense(cause);
    onBroken(reader, error);
    throw error;
  }
}
