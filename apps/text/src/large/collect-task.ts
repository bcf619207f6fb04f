import { collectEvents } from '../passthrough/collect-passed.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import { bufferOf, sharedBytes } from './shared-bytes.ts';

export interface CollectTask {
  readonly protocol: TextProtocol;
  /** A finished stream. */
  readonly bytes: Uint8Array;
}

/** Writes the whole reply that a stream amounts to; null where it is none. */
export function collectTask({ protocol, bytes }: CollectTask): Uint8Array | null {
  const whole = collectEvents(protocol, bufferOf(bytes));
  return whole && sharedBytes(whole);
}
