import type { IncomingHttpHeaders } from 'node:http';
import {
  CALLER_NAME_HEADERS,
  CALLER_NAMES,
  type CallerName,
  type CallerNames,
  MAX_CALLER_NAME_LENGTH,
} from '@gateway/contracts/usage/caller-names';

/** Control characters, and marks that turn the direction of text: people's terminals show these names. */
const HIDDEN = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** What a request's record is found by: its headers say it, else its body does. */
export function callerNamesIn(
  headers: IncomingHttpHeaders,
  body: Readonly<Partial<Record<CallerName, string | null>>> = {},
): CallerNames {
  const names: CallerNames = {};
  for (const name of CALLER_NAMES) {
    const sent = headers[CALLER_NAME_HEADERS[name]] ?? body[name];
    if (typeof sent !== 'string') continue;
    const shown = sent.slice(0, MAX_CALLER_NAME_LENGTH).replace(HIDDEN, '').trim();
    if (shown !== '') names[name] = shown;
  }
  return names;
}
