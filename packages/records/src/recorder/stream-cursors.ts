import { type EntryId, FIRST_ID, type OutboxStream } from '@gateway/metering/usage/outbox';
import { z } from 'zod';
import { placesOf, type Queries } from '../database/database.ts';

const Cursors = z.array(z.object({ stream: z.string(), entry_ms: z.int(), entry_seq: z.int() }));

/** How far each stream is in the database. */
export type StreamCursors = (stream: Pick<OutboxStream, 'name'>) => EntryId;

/** Of some streams. */
export async function readCursors(
  { query }: Queries,
  streams: readonly Pick<OutboxStream, 'name'>[],
): Promise<StreamCursors> {
  const rows = await query(
    `select stream, entry_ms, entry_seq from stream_cursors where stream in ${placesOf(1, streams.length)}`,
    streams.map(({ name }) => name),
  );
  const cursors = new Map(
    Cursors.parse(rows).map(({ stream, entry_ms, entry_seq }) => [stream, { ms: entry_ms, seq: entry_seq }]),
  );
  return ({ name }) => cursors.get(name) ?? FIRST_ID;
}

export async function writeCursor(
  { query }: Queries,
  { name }: Pick<OutboxStream, 'name'>,
  { ms, seq }: EntryId,
): Promise<void> {
  await query(
    `insert into stream_cursors (stream, entry_ms, entry_seq) values ($1, $2, $3)
     on conflict (stream) do update set entry_ms = excluded.entry_ms, entry_seq = excluded.entry_seq`,
    [name, ms, seq],
  );
}
