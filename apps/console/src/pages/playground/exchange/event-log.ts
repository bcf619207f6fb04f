import { createLive, type Live } from './live.ts';

/** One event of a stream as it came; or a whole body. */
export interface RawEvent {
  /** Since the request was sent, in milliseconds. */
  readonly atMs: number;
  /** The event's name; '' for one without. */
  readonly name: string;
  readonly data: string;
  /** Characters of the data that are not kept. */
  readonly cut: number;
}

interface LoggedEvents {
  /** The oldest first. The array grows in place, so that an event costs no copy of all before it. */
  readonly events: readonly RawEvent[];
  /** Earlier events that were let go. */
  readonly dropped: number;
}

/** What came, event by event, within bounds. */
export interface EventLog {
  readonly live: Live<LoggedEvents>;
  add(event: { atMs: number; name: string; data: string }): void;
  /** Lets all of them go. */
  forget(): void;
}

const MAX_EVENTS = 10_000;
const MAX_CHARACTERS = 8_000_000;
/** A picture in base64 may have millions. */
const MAX_EVENT_CHARACTERS = 100_000;

export function createEventLog(): EventLog {
  const events: RawEvent[] = [];
  let dropped = 0;
  let characters = 0;
  const live = createLive<LoggedEvents>({ events, dropped });
  const drop = (count: number): void => {
    const oldest = events.splice(0, count);
    dropped += oldest.length;
    for (const { data } of oldest) characters -= data.length;
  };
  return {
    live,
    add: ({ data, ...event }) => {
      const kept = data.slice(0, MAX_EVENT_CHARACTERS);
      events.push({ ...event, data: kept, cut: data.length - kept.length });
      characters += kept.length;
      while (events.length > MAX_EVENTS || characters > MAX_CHARACTERS) drop(Math.ceil(events.length / 10));
      live.set({ events, dropped });
    },
    forget: () => {
      drop(events.length);
      live.set({ events, dropped });
    },
  };
}
