import type { ConnectionMemory } from '@gateway/model-service/sockets/socket-memory';
import type { RememberedResponse } from '../call/request/history.ts';
import type { ResponseMemory } from '../call/request/response-memory.ts';
import type { Lane } from './client-event.ts';

/** What one connection remembers: the newest response of each lane that is stored nowhere. */
export interface LaneMemory {
  /** Every lane finds what any lane has made. */
  of(lane: Lane): ResponseMemory;
  /** A request in this lane failed to continue a response. Another lane's stays: that lane may still continue it. */
  forget(lane: Lane, id: string): void;
  /** The connection has ended. */
  end(): void;
}

interface Kept {
  readonly response: RememberedResponse;
  readonly giveBack: () => void;
}

/** Beside its items: what finds them, and their request. */
const BYTES_OF_RESPONSE = 2048;

/** @param maxBytes of all items together; where a new response needs more, the oldest are forgotten, or it is not kept */
export function createLaneMemory(maxBytes: () => number, memory: ConnectionMemory): LaneMemory {
  const newest = new Map<Lane, Kept>();
  let bytes = 0;
  let hasEnded = false;

  const remove = (lane: Lane) => {
    const kept = newest.get(lane);
    if (kept === undefined) return;
    bytes -= kept.response.bytes;
    newest.delete(lane);
    kept.giveBack();
  };
  const keep = (lane: Lane, response: RememberedResponse) => {
    remove(lane);
    if (hasEnded || response.bytes > maxBytes()) return;
    for (const oldest of newest.keys()) {
      if (bytes + response.bytes <= maxBytes()) break;
      remove(oldest);
    }
    const giveBack = memory.remember(response.bytes + BYTES_OF_RESPONSE, () => remove(lane));
    if (giveBack === null) return;
    newest.set(lane, { response, giveBack });
    bytes += response.bytes;
  };
  const find = (id: string): RememberedResponse | null => {
    for (const { response } of newest.values()) if (response.id === id) return response;
    return null;
  };

  return {
    of: (lane) => ({ find, keep: (response) => keep(lane, response) }),
    forget: (lane, id) => {
      if (newest.get(lane)?.response.id === id) remove(lane);
    },
    end: () => {
      hasEnded = true;
      for (const lane of [...newest.keys()]) remove(lane);
    },
  };
}
