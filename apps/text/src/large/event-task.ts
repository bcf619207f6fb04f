import type { SerializedError } from '@gateway/contracts/gateway-error';
import {
  type CreateEvent,
  type FrameBounds,
  type RefusedEvent,
  readClientEvent,
} from '../sockets/client-event.ts';
import { steerFailedEvent } from '../sockets/error-event.ts';
import { bufferOf, sharedBytes, sharedText } from './shared-bytes.ts';

export interface EventTask {
  readonly frame: Uint8Array;
  readonly isBinary: boolean;
  readonly bounds: FrameBounds;
}

/** A client's event without its content. */
export type ReadEvent =
  | (Omit<CreateEvent, 'bytes' | 'value'> & { readonly bytes: Uint8Array })
  | (Omit<RefusedEvent, 'error'> & { readonly error: SerializedError })
  | { readonly kind: 'answered'; readonly answer: Uint8Array };

/** Reads what a client has sent in one message of a WebSocket. */
export function eventTask({ frame, isBinary, bounds }: EventTask): ReadEvent {
  const event = readClientEvent(bufferOf(frame), isBinary, bounds);
  if (event.kind === 'refused') return { ...event, error: event.error.serialize() };
  if (event.kind === 'steer') return { kind: 'answered', answer: sharedText(steerFailedEvent(event)) };
  const { value: _, bytes, ...create } = event;
  return { ...create, bytes: sharedBytes(bytes) };
}
