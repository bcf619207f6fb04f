import { eventNameOf, typedData } from '@gateway/contracts/event-stream/frame-data';
import type { Frame } from '@gateway/contracts/event-stream/frame-reader';
import { namedFrame } from '@gateway/contracts/event-stream/sse-frames';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { shownError } from '@gateway/service-kit/error-response';

/**
 * The last frame of an event stream that broke. Client libraries throw for the event's name or for the member `error`;
 * the members beside it are those of the protocol's error event.
 */
export function errorFrame(error: GatewayError): string {
  const body = shownError(error);
  const { code, message, param } = body;
  return namedFrame({ type: 'error', code, message, param, error: body });
}

/** A frame of base64 audio is large, but not this large. */
export const MAX_FRAME_BYTES = 8 * 1024 * 1024;

const ERROR_EVENT = /^(?:event: ?error\b|data: ?\{"(?:type": ?"error"|error":))/m;

/** Whether an upstream's frame is its own report that it broke. */
export const isErrorEvent = (frame: string): boolean => frame.includes('error') && ERROR_EVENT.test(frame);

/** An event whose server names it and gives its data no type, as its protocol has it; null for any other. */
export function typedText(frame: Frame): string | null {
  const typed = typedData(frame);
  return typed === null ? null : `event: ${eventNameOf(frame)}\ndata: ${typed}\n\n`;
}
