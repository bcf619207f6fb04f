import { setImmediate } from 'node:timers/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { inThread } from '../large/in-thread.ts';
import { bufferOf, sharedBytes } from '../large/shared-bytes.ts';
import {
  type CreateEvent,
  type FrameBounds,
  type RefusedEvent,
  type readClientEvent,
  readSmallEvent,
} from './client-event.ts';
import { steerFailedEvent } from './error-event.ts';

/** What a client has sent in one message; for what is no request, the answer. */
export type ReadMessage =
  | CreateEvent
  | RefusedEvent
  | { readonly kind: 'answered'; readonly answer: Buffer | string };

interface ReaderOptions {
  readonly bounds: FrameBounds;
  /** Whose large messages take turns with those of others. */
  readonly owner: string;
  /** Counts what waits, until the returned function is called. @throws {GatewayError} where that is too much */
  readonly hold: (bytes: number) => () => void;
  /** Gets each message in the order in which they came. */
  readonly onMessage: (message: ReadMessage) => void;
  /** Called while a large message is read, and afterwards: nothing more of its client need come. */
  readonly onBusy: (isBusy: boolean) => void;
}

/** Reads the messages of one connection: small ones at once, large ones in the thread, and all in their order. */
export interface MessageReader {
  push(frame: Buffer, isBinary: boolean): void;
  /** Whether messages wait to be read. */
  readonly isBusy: boolean;
  /** The client has left. */
  end(): void;
}

export function createMessageReader(options: ReaderOptions): MessageReader {
  const { bounds, owner, hold, onMessage, onBusy } = options;
  let reading: Promise<void> | null = null;
  let leaving: AbortController | null = null;
  let hasEnded = false;

  const readLarge = async (frame: Buffer, isBinary: boolean): Promise<ReadMessage> => {
    leaving ??= new AbortController();
    // The turn in which a message has come is long already: it was put together and its mask undone.
    await setImmediate();
    const task = { frame: sharedBytes(frame), isBinary, bounds };
    const read = await inThread('event', task, { owner, signal: leaving.signal });
    if (read.kind === 'refused') return { ...read, error: GatewayError.deserialize(read.error) };
    if (read.kind === 'answered') return { ...read, answer: bufferOf(read.answer) };
    return { ...read, bytes: bufferOf(read.bytes), value: null };
  };
  const refusedBy = (error: unknown): RefusedEvent => ({
    kind: 'refused',
    lane: null,
    error: toGatewayError(error),
  });
  const wait = (frame: Buffer, isBinary: boolean, release: () => void) => {
    const before = reading;
    if (before === null) onBusy(true);
    const read = async () => {
      await before;
      const small = readSmallEvent(frame, isBinary, bounds);
      const message = small === null ? await readLarge(frame, isBinary).catch(refusedBy) : answered(small);
      release();
      if (!hasEnded) onMessage(message);
      if (reading !== last) return;
      reading = null;
      if (!hasEnded) onBusy(false);
    };
    const last = read();
    reading = last;
  };

  return {
    push: (frame, isBinary) => {
      const event = reading === null ? readSmallEvent(frame, isBinary, bounds) : null;
      if (event !== null) return onMessage(answered(event));
      let release: () => void;
      try {
        release = hold(frame.length);
      } catch (error) {
        return onMessage(refusedBy(error));
      }
      wait(frame, isBinary, release);
    },
    get isBusy() {
      return reading !== null;
    },
    end: () => {
      hasEnded = true;
      leaving?.abort(new Error('the client has left'));
    },
  };
}

const answered = (event: ReturnType<typeof readClientEvent>): ReadMessage =>
  event.kind === 'steer' ? { kind: 'answered', answer: steerFailedEvent(event) } : event;
