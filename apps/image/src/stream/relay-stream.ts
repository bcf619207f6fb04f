import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { openaiError, toGatewayError } from '@gateway/service-kit/error-response';
import { createFrameReader, FrameTooLarge } from '@gateway/service-kit/event-stream/frame-reader';
import type { Reply } from '@gateway/upstream/reply';

/** One image of the largest size in base64, and its frame. */
const MOST_FRAME_BYTES = 128 * 1024 * 1024;

export interface Relayed {
  /** The events of completed images, as they came: JSON. */
  readonly completed: readonly string[];
  /** What broke the stream, if something did; the caller has been told. */
  readonly failure: GatewayError | undefined;
}

/**
 * Passes an event stream on, whole frames only, as they come. A stream that breaks, or ends without a completed image,
 * ends with the protocol's error event.
 *
 * @param ended why the request itself is over, if it is: the caller left, or the process must stop
 */
export async function relayStream(
  reply: Reply,
  response: ServerResponse,
  ended: () => GatewayError | undefined,
): Promise<Relayed> {
  const reader = createFrameReader({ maxFrameBytes: MOST_FRAME_BYTES });
  const completed: string[] = [];
  let failure: GatewayError | undefined;
  const note = (data: string | null) => {
    const kind = kindOf(data);
    if (kind === 'completed') completed.push(withoutImage(data ?? ''));
    if (kind === 'error') failure = broken('The upstream reported an error in the middle of the stream.');
  };
  try {
    for await (const chunk of reply.body) {
      const frames = reader.push(chunk, note);
      if (frames !== null && !response.write(frames)) await drained(response);
    }
    if (completed.length > 0 || failure !== undefined) return { completed, failure };
    throw broken('The upstream ended the stream before an image was complete.');
  } catch (error) {
    failure = ended() ?? toGatewayError(error instanceof FrameTooLarge ? tooLarge(error) : error);
    response.write(errorFrame(failure));
    return { completed, failure };
  }
}

async function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return;
  const gone = new AbortController();
  const stop = () => gone.abort();
  response.once('close', stop);
  await once(response, 'drain', { signal: gone.signal }).catch(() => undefined);
  response.off('close', stop);
}

/** An event's own type; there is no quote within base64, so the search is not led astray by an image before it. */
function kindOf(data: string | null): 'completed' | 'error' | 'other' {
  if (data === null) return 'other';
  if (data.startsWith('{"error"')) return 'error';
  const type = /"type"\s*:\s*"([a-z_.]+)"/.exec(data)?.[1];
  if (type?.endsWith('.completed')) return 'completed';
  return type === 'error' ? 'error' : 'other';
}

/** What is kept of a completed image is what its event says of it. */
const withoutImage = (data: string): string =>
  data.replace(/"b64_json"\s*:\s*"[^"]*"/, () => '"b64_json":""');

const broken = (message: string, cause?: unknown): GatewayError =>
  new GatewayError('upstream_failed', { message, source: 'upstream', retry: false, cause });

const tooLarge = (cause: FrameTooLarge): GatewayError =>
  broken('The upstream sent an event that is too large to pass on.', cause);

const errorFrame = (error: GatewayError): string =>
  `event: error\ndata: ${JSON.stringify({ type: 'error', error: openaiError(error) })}\n\n`;
