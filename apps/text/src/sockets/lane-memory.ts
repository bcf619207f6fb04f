import type { RememberedResponse } from '../call/request/history.ts';
import type { ResponseMemory } from '../call/request/response-memory.ts';
import type { Lane } from './client-event.ts';

/** What one connection remembers: the newest response of each lane that is stored nowhere. */
export interface LaneMemory {
  /** Every lane finds what any lane has made. */
  of(lane: Lane): ResponseMemory;
  /** A request in this lane failed to continue a response. Another lane's stays: that lane may still continue it. */
  forget(lane: Lane, id: string): void;
}

/** @param maxBytes of all items together; where a new response needs more, the oldest are forgotten, or it is not kept */
export function createLaneMemory(maxBytes: () => number): LaneMemory {
  const newest = new Map<Lane, RememberedResponse>();
  let bytes = 0;

  const remove = (lane: Lane) => {
    bytes -= newest.get(lane)?.bytes ?? 0;
    newest.delete(lane);
  };
  const keep = (lane: Lane, response: RememberedResponse) => {
    remove(lane);
    if (response.bytes > maxBytes()) return;
    for (const oldest of newest.keys()) {
      if (bytes + response.bytes <= maxBytes()) break;
      remove(oldest);
    }
    newest.set(lane, response);
    bytes += response.bytes;
  };
  const find = (id: string): RememberedResponse | null => {
    for (const response of newest.values()) if (response.id === id) return response;
    return null;
  };

  return {
    of: (lane) => ({ find, keep: (response) => keep(lane, response) }),
    forget: (lane, id) => {
      if (newest.get(lane)?.id === id) remove(lane);
    },
  };
}
