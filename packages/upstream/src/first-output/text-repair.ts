import type { IncomingHttpHeaders } from 'node:http';
import type { TextRepair } from '../replies/reply-body.ts';
import { linesToEvents } from './json-lines.ts';

const [LINE_FEED, RETURN] = [0x0a, 0x0d];
const MARK = Buffer.from('\ufeff');
const EMPTY = Buffer.alloc(0);
const LOOKED_AT_BYTES = 512;
const BEGINS_AN_OBJECT = /^\s*\{/;

/**
 * What has to be done to the bytes of a reply so that every reader of JSON and of events reads them: some servers begin with a byte
 * order mark, and some end the lines of events in CR alone. Null where nothing has to be, which a look at the beginning tells; `wait`:
 * more has to arrive.
 *
 * @param start what has arrived, at least the whole of a mark
 */
export function textRepair(
  headers: IncomingHttpHeaders,
  start: Buffer,
  ended: boolean,
): TextRepair | 'wait' | null {
  const type = headers['content-type'] ?? '';
  const isStream = type.startsWith('text/event-stream');
  if (!isStream && !type.startsWith('application/json')) return null;
  const hasReturns = isStream ? endsLinesInReturns(start, ended) : false;
  if (hasReturns === 'wait') return 'wait';
  const hasMark = start.subarray(0, MARK.length).equals(MARK);
  const text = hasMark ? start.subarray(MARK.length) : start;
  const repairs: readonly TextRepair[] = [
    ...(hasMark ? [markRemover()] : []),
    ...(hasReturns ? [returnsToFeeds()] : []),
    // What begins like JSON under the type of events is lines of it.
    ...(isStream && BEGINS_AN_OBJECT.test(text.toString('latin1', 0, LOOKED_AT_BYTES))
      ? [linesToEvents()]
      : []),
  ];
  if (repairs.length === 0) return null;
  return (chunk) =>
    repairs.reduce<Buffer>(
      (read, repair) => (chunk === null ? Buffer.concat([repair(read), repair(null)]) : repair(read)),
      chunk ?? EMPTY,
    );
}

/** What ends the first line. */
function endsLinesInReturns(start: Buffer, ended: boolean): boolean | 'wait' {
  const at = start.indexOf(RETURN);
  const feed = start.indexOf(LINE_FEED);
  if (at < 0 || (feed >= 0 && feed < at)) return feed < 0 && !ended ? 'wait' : false;
  if (at === start.length - 1 && !ended) return 'wait';
  return start[at + 1] !== LINE_FEED;
}

function markRemover(): TextRepair {
  let isFirst = true;
  return (chunk) => {
    if (chunk === null) return EMPTY;
    const rest = isFirst ? chunk.subarray(MARK.length) : chunk;
    isFirst = false;
    return rest;
  };
}

/** Every line end as LF. A stream that mixes them has CR LF as one. */
function returnsToFeeds(): TextRepair {
  let endedInReturn = false;
  return (chunk) => {
    if (chunk === null || chunk.length === 0) return EMPTY;
    const text = chunk.toString('latin1');
    const rest = endedInReturn && text.startsWith('\n') ? text.slice(1) : text;
    endedInReturn = text.endsWith('\r');
    return Buffer.from(rest.replaceAll(/\r\n?/g, '\n'), 'latin1');
  };
}
