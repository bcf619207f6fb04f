import { Stack, Text } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef, useState } from 'react';
import { milliseconds, wholeNumber } from '../../../parts/numbers.ts';
import type { EventLog } from './event-log.ts';
import { useLive } from './live.ts';
import classes from './raw-events.module.css';

const ROW_HEIGHT = 28;
/** More of an event than this is shown only where it is opened. */
const MAX_ROW_CHARACTERS = 200;

/** What came, event by event. Only the rows in view are in the document. */
export function RawEvents({ of: log }: { of: EventLog }) {
  const { events, dropped } = useLive(log.live);
  const [openIndex, setOpenIndex] = useState<number>();
  const list = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: events.length,
    getScrollElement: () => list.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 10,
  });
  const open = openIndex === undefined ? undefined : events[openIndex - dropped];
  return (
    <Stack gap="xs">
      <Text size="xs" c="dimmed">
        {events.length + dropped === 0
          ? 'No events yet.'
          : `${wholeNumber(events.length)} events, in order of arrival.`}
        {dropped > 0 && ` ${wholeNumber(dropped)} earlier ones were dropped.`} Choose one to see it in full.
      </Text>
      <section ref={list} className={classes.list} aria-label="Raw events">
        <div className={classes.inner} style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, key, start }) => {
            const event = events[index];
            if (event === undefined) return null;
            return (
              <button
                key={key}
                type="button"
                className={classes.event}
                aria-pressed={index + dropped === openIndex}
                style={{ height: ROW_HEIGHT, transform: `translateY(${start}px)` }}
                onClick={() => setOpenIndex(index + dropped)}
              >
                <Text size="xs" c="dimmed" span>
                  {milliseconds(event.atMs)}
                </Text>
                <Text size="xs" fw={600} span truncate>
                  {event.name}
                </Text>
                <Text size="xs" ff="monospace" span truncate>
                  {event.data.slice(0, MAX_ROW_CHARACTERS)}
                </Text>
              </button>
            );
          })}
        </div>
      </section>
      {open && (
        <Text
          component="pre"
          size="xs"
          ff="monospace"
          className={classes.data}
          tabIndex={0}
          aria-label="The event"
        >
          {open.data}
          {open.cut > 0 && `\n… ${wholeNumber(open.cut)} more characters, not stored`}
        </Text>
      )}
    </Stack>
  );
}
