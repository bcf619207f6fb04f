import { isNamedFault, type NamedFaultName } from './fault-table.ts';

/**
 * The directives that a request may give, by `[[simulate …]]` in its text or by a test's script.
 * Counts of events are counts of writes: an SSE frame, a chunk of audio.
 */
export interface Directives {
  /** Answers with this error status. */
  status?: number;
  /** Answers with one of the named errors. */
  fault?: NamedFaultName;
  retryAfterSeconds?: number;
  /** Applies the whole directive only to requests for this model. */
  model?: string;
  /** Applies the whole directive only to the first so many identical requests. */
  times?: number;
  /** Closes the connection without a reply. */
  closeBeforeResponse?: boolean;
  /** Sends interim answers (103, 102) before the status line. */
  interim?: boolean;
  /** Waits before the status line. */
  slowFirstByteMs?: number;
  /** Sends the headers, then waits before the first event. */
  slowFirstEventMs?: number;
  /** Waits before each event after the first. */
  paceMs?: number;
  /** Writes so many events at once, and no fewer before the last ones. */
  burst?: number;
  /** Falls silent after so many events; a whole body falls silent halfway. */
  stallAfter?: number;
  /** Destroys the socket after so many events; a whole body is cut halfway. */
  cutAfter?: number;
  /** Ends the stream cleanly, but early, after so many events. */
  endAfter?: number;
  /** Sends the protocol's error event after so many events. */
  errorEventAfter?: number;
  /** Sends bytes outside the protocol (broken JSON) after so many events, or instead of a whole body. */
  garbageAfter?: number;
  /** 502 with an HTML page, as from a proxy in front of a provider. */
  html?: boolean;
  /** 200 with an empty body. */
  empty?: boolean;

  /** The answer's length in tokens. */
  tokens?: number;
  /** Input tokens reported as read from the prompt cache. */
  cachedTokens?: number;
  /** Input tokens reported as written to the prompt cache. */
  cacheWriteTokens?: number;
  /** Tokens of reasoning, if the request enables reasoning. */
  reasoningTokens?: number;
  /** The model refuses. */
  refusal?: boolean;
  /** Responses: raw reasoning text instead of a summary. */
  rawReasoning?: boolean;
  /** Messages: redacted thinking instead of thinking. */
  redactedThinking?: boolean;
  /** Responses: how long a background response takes. */
  backgroundMs?: number;
  /** Transcriptions: answers in this format instead of the requested one. */
  transcriptFormat?: string;
  /** Chat: deviations of third-party servers, joined by `+` in the text. */
  quirks?: readonly string[];
}

type NamesOf<Value> = {
  [Name in keyof Directives]-?: Required<Directives>[Name] extends Value ? Name : never;
}[keyof Directives];
type Reader = (directives: Directives, value: string) => void;

const numeric =
  (name: NamesOf<number>, fallback?: number): Reader =>
  (directives, value) => {
    const number = value === '' ? fallback : Number(value);
    if (number !== undefined && Number.isFinite(number) && number >= 0) directives[name] = number;
  };

const flag =
  (name: NamesOf<boolean>): Reader =>
  (directives) => {
    directives[name] = true;
  };

/** Every word of `[[simulate …]]`, besides the named faults; README.md explains them. */
export const READERS: Readonly<Record<string, Reader>> = {
  status: numeric('status'),
  'retry-after': numeric('retryAfterSeconds'),
  model: (directives, value) => {
    directives.model = value;
  },
  times: numeric('times'),
  'close-before-response': flag('closeBeforeResponse'),
  interim: flag('interim'),
  'slow-first-byte': numeric('slowFirstByteMs', 1000),
  'slow-first-event': numeric('slowFirstEventMs', 1000),
  pace: numeric('paceMs'),
  burst: numeric('burst'),
  'stall-after': numeric('stallAfter', 0),
  'cut-after': numeric('cutAfter', 0),
  'end-after': numeric('endAfter', 0),
  'error-event-after': numeric('errorEventAfter', 0),
  garbage: numeric('garbageAfter', 0),
  html: flag('html'),
  empty: flag('empty'),
  tokens: numeric('tokens'),
  'cached-tokens': numeric('cachedTokens'),
  'cache-write-tokens': numeric('cacheWriteTokens'),
  'reasoning-tokens': numeric('reasoningTokens'),
  refusal: flag('refusal'),
  'raw-reasoning': flag('rawReasoning'),
  'redacted-thinking': flag('redactedThinking'),
  background: numeric('backgroundMs'),
  'transcript-format': (directives, value) => {
    directives.transcriptFormat = value;
  },
  quirk: (directives, value) => {
    directives.quirks = value.split('+');
  },
};

const MARK = '[[simulate';
const PATTERN = /\[\[simulate\s+([^\]]*)\]\]/g;
const MAX_TEXT_CHARACTERS = 1_000_000;

export const NO_DIRECTIVES: Directives = Object.freeze({});

/** Reads all `[[simulate …]]` of a text; unknown words are ignored. */
export const parseDirectives = (text: string): Directives => {
  if (!text.includes(MARK)) return NO_DIRECTIVES;
  const directives: Directives = {};
  for (const [, words] of text.slice(0, MAX_TEXT_CHARACTERS).matchAll(PATTERN)) {
    for (const word of (words ?? '').split(/\s+/)) {
      const [name = '', value = ''] = word.split('=', 2);
      if (isNamedFault(name)) directives.fault = name;
      else if (Object.hasOwn(READERS, name)) READERS[name]?.(directives, value);
    }
  }
  return directives;
};

/** The text without directives. */
export const withoutDirectives = (text: string): string =>
  text.includes(MARK) ? text.replaceAll(PATTERN, '').trim() : text;
