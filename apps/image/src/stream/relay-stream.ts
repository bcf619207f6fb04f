import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { openaiError, toGatewayError } from '@gateway/service-kit/error-response';
import type { Reply } from '@gateway/upstream/reply';
import { createFrameSplitter } from './frame-splitter.ts';

/** One image of the largest size in base64, and its frame. */
const MOST_FRAME_BYTES = 128 * 1024 * 1024;
/** Where a frame's kind stands: before its image. */
const HEAD_BYTES = 256;

export interface Relayed {
  /** How many images were completed. */
  readonly images: number;
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
  const splitter = createFrameSplitter(MOST_FRAME_BYTES);
  let images = 0;
  let failure: GatewayError | undefined;
  try {
    for await (const chunk of reply.body) {
      for (const frame of splitter.push(chunk)) {
        const kind = kindOf(frame);
        if (kind === 'completed') images += 1;
        if (kind === 'error') failure = broken('The upstream reported an error in the middle of the stream.');
        if (!response.write(frame)) await drained(response);
      }
    }
    if (images > 0 || failure !== undefined) return { images, failure };
    throw broken('The upstream ended the stream before an image was complete.');
  } catch (error) {
    failure = ended() ?? toGatewayError(error);
    response.write(errorFrame(failure));
    return { images, failure };
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

function kindOf(frame: Buffer): 'completed' | 'error' | 'other' {
  const head = frame.toString('latin1', 0, HEAD_BYTES);
  if (/^event: ?image_(?:generation|edit)\.completed\r?$/m.test(head)) return 'completed';
  if (/^event: ?error\r?$/m.test(head)) return 'error';
  const type = /^data:.*?"type" ?: ?"([a-z_.]+)"/m.exec(head)?.[1];
  if (type?.endsWith('.completed')) return 'completed';
  return type === 'error' ? 'error' : 'other';
}

const broken = (message: string): GatewayError =>
  new GatewayError('upstream_failed', { message, source: 'upstream', retry: false });

const errorFrame = (error: GatewayError): string =>
  `event: error\ndata: ${JSON.stringify({ type: 'error', error: openaiError(error) })}\n\n`;
