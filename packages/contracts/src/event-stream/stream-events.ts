/** How a response ends. */
export type ResponseEnd = 'completed' | 'incomplete' | 'failed';

/** What the events of one text protocol are, by their names. An event that is in no list is output, whether known or not. */
interface EventTable {
  /** They begin an answer, and show nothing of it. */
  readonly start: readonly string[];
  /** They only break a silence. */
  readonly silence: readonly string[];
  /** The answer is over after them, but for a marker, and how it has ended. */
  readonly end: Readonly<Record<string, ResponseEnd>>;
  /** They report that there is no answer, or no whole one. */
  readonly failure: readonly string[];
}

export const STREAM_EVENTS = {
  responses: {
    start: ['response.created', 'response.queued', 'response.in_progress'],
    silence: ['keepalive'],
    end: {
      'response.completed': 'completed',
      'response.incomplete': 'incomplete',
      'response.failed': 'failed',
    },
    failure: ['error', 'response.failed'],
  },
  messages: {
    start: ['message_start'],
    silence: ['ping'],
    end: { message_stop: 'completed' },
    failure: ['error'],
  },
  /** As the gateway reads them: AWS' own are binary. Usage comes after the end. */
  converse: { start: ['messageStart'], silence: [], end: {}, failure: ['error'] },
  /** Its chunks have no names. */
  chat: { start: [], silence: [], end: {}, failure: ['error'] },
} as const satisfies Readonly<Record<string, EventTable>>;

/** The data that marks the end of a stream, where its protocol has a mark. */
export const END_MARK = '[DONE]';

const RESPONSE_ENDS: ReadonlyMap<string, ResponseEnd> = new Map(Object.entries(STREAM_EVENTS.responses.end));

/** How a response has ended after an event of this name; undefined where it goes on. */
export const responseEndAfter = (event: string): ResponseEnd | undefined => RESPONSE_ENDS.get(event);

/** The names of events as they stand in JSON: what does not contain one of them needs not be parsed to know that. */
export const quoted = (names: readonly string[]): readonly string[] => names.map((name) => `"${name}"`);
