import { END_MARK } from '@gateway/contracts/event-stream/stream-events';
import { isObject, jsonIn } from '@gateway/contracts/json/json-object';
import type { TextRepair } from '../replies/reply-body.ts';

/** No first event is longer: a response repeats its request in it, but not where its server knows no event streams. */
const MAX_FIRST_LINE = 32_768;

const LINE_END = /\r?\n/;

/**
 * Whether a text is a list of JSON objects, each on a line of its own, as some servers stream. `wait`: more has to arrive. A single
 * line is an object like any other.
 */
export function isJsonLines(text: string, ended: boolean): boolean | 'wait' {
  if (!text.startsWith('{')) return false;
  const end = text.search(LINE_END);
  if (end < 0) return !ended && text.length < MAX_FIRST_LINE ? 'wait' : false;
  if (end > MAX_FIRST_LINE || !isObject(jsonIn(text.slice(0, end)))) return false;
  const rest = text.slice(end).trimStart();
  if (rest === '') return ended ? false : 'wait';
  return rest.startsWith('{') || rest.startsWith(END_MARK);
}

const LINE_FEED = 0x0a;
const EMPTY = Buffer.alloc(0);

/** Writes such lines as an event stream: an object with a type is an event of that name. */
export function linesToEvents(): TextRepair {
  let held = EMPTY;
  return (chunk) => {
    const all = chunk === null ? held : Buffer.concat([held, chunk]);
    const whole = chunk === null ? all.length : all.lastIndexOf(LINE_FEED) + 1;
    held = all.subarray(whole);
    const events = all
      .toString('utf8', 0, whole)
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .map(eventOf);
    return Buffer.from(events.join(''));
  };
}

function eventOf(line: string): string {
  const object = jsonIn(line);
  const type = isObject(object) && typeof object.type === 'string' ? object.type : '';
  return `${/^[\w.]+$/.test(type) ? `event: ${type}\n` : ''}data: ${line}\n\n`;
}
