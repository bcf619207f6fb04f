import type { Chunk, Reply } from '../replies/reply.ts';
import type { Cuts, ScriptedReply } from './script-queue.ts';

const DEFAULT_STATUS = 200;

const eventsOf = (bytes: Buffer): Buffer[] => {
  const events: Buffer[] = [];
  let start = 0;
  while (start < bytes.length) {
    const blank = bytes.indexOf('\n\n', start);
    const end = blank < 0 ? bytes.length : blank + 2;
    events.push(bytes.subarray(start, end));
    start = end;
  }
  return events;
};

/** Cuts bytes into pieces that are written one by one. */
const cutBytes = (body: Chunk, cuts: Cuts): Buffer[] => {
  const bytes = Buffer.from(body);
  if (cuts === 'whole') return [bytes];
  if (cuts === 'events') return eventsOf(bytes);
  if (cuts === 'bytes') return Array.from(bytes, (_, index) => bytes.subarray(index, index + 1));
  const offsets = [0, ...cuts, bytes.length];
  return offsets.slice(1).map((end, index) => bytes.subarray(offsets[index], end));
};

/** The whole reply of a test's script; null if the script only changes the ordinary one. */
export const scriptedReply = (scripted: ScriptedReply): Reply | null => {
  const { status = DEFAULT_STATUS, headers = {}, json, body, sse, cuts } = scripted;
  const reply = (contentType: string, chunks: Iterable<Chunk>, isStream: boolean): Reply => ({
    status,
    contentType,
    headers,
    chunks,
    isStream,
  });
  if (sse !== undefined)
    return reply('text/event-stream; charset=utf-8', cutBytes(sse, cuts ?? 'events'), true);
  if (json !== undefined) return reply('application/json', [JSON.stringify(json)], false);
  if (body !== undefined) {
    return reply('application/octet-stream', cutBytes(body, cuts ?? 'whole'), cuts !== undefined);
  }
  return null;
};
