import type { JsonObject } from '../json-object.ts';

/** Puts the events of one stream together to the whole reply that they amount to, unknown members included. */
export interface EventCollector {
  /** @param event parsed with `parseBody`; `data` is its text */
  take(event: JsonObject, data: string): void;
  /** Null where the stream has not begun. */
  body(): JsonObject | null;
}
