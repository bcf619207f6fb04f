import type { IncomingHttpHeaders } from 'node:http';
import { type EventFrame, eventDataOf } from '@gateway/contracts/event-stream/event-frame';
import { END_MARK, responseEndAfter } from '@gateway/contracts/event-stream/stream-events';
import { EventCaller } from '@gateway/model-service/event-caller';
import type {
  BackgroundResponses,
  BackgroundStatus,
  Ending,
  LoggedEvent,
} from '../../background/background-responses.ts';
import { type JsonObject, objectAt, objectOf } from '../../wire/json-object.ts';
import { isJsonObject, parseBody } from '../../wire/raw-json.ts';

/** How a stream has ended: its last event, and the response in it. */
export interface RecordedEnd {
  readonly status: BackgroundStatus;
  readonly response: JsonObject;
  readonly event: LoggedEvent;
}

interface RecordedResponse {
  readonly id: string;
  readonly headers: IncomingHttpHeaders;
  /** The response as its caller has seen it first. */
  readonly accepted: JsonObject;
  /** Null where nobody can read the events. */
  readonly log: Pick<BackgroundResponses, 'append'> | null;
}

/** The caller gets these when the response is accepted. */
export const ACCEPTED_EVENTS = ['response.created', 'response.queued'];
/** What the gateway has promised of the response, whatever the provider calls it. */
const PROMISED_MEMBERS = ['id', 'created_at', 'background', 'store', 'previous_response_id'] as const;
const SHOWN_HEADERS = ['x-gateway-channel', 'x-gateway-dropped'] as const;

/**
 * The caller of a response that is generated in the background: its events are stored as they come, and no faster
 * than that taken. The last one is not, so that the response and its end become known in one step.
 */
export class RecordingCaller extends EventCaller {
  readonly #recorded: RecordedResponse;
  readonly #promised: JsonObject;
  /** How often it was sent what is not stored yet. */
  #untaken = 0;
  /** Resolves to false where another process has ended the response. */
  #stored: Promise<boolean> = Promise.resolve(true);
  #end: RecordedEnd | null = null;

  constructor(recorded: RecordedResponse) {
    super(recorded.headers, '/v1/responses');
    this.#recorded = recorded;
    const { accepted } = recorded;
    this.#promised = Object.fromEntries(
      PROMISED_MEMBERS.flatMap((name) => (name in accepted ? [[name, accepted[name]]] : [])),
    );
  }

  get isFull(): boolean {
    return this.#untaken > 0;
  }

  /** For who reads the response. */
  get shownHeaders(): Ending['headers'] {
    return Object.fromEntries(
      SHOWN_HEADERS.flatMap((name) => {
        const value = this.head[name];
        return typeof value === 'string' ? [[name, value]] : [];
      }),
    );
  }

  /**
   * How the stream has ended, once all before that is stored; null where it has not, or another process has ended the
   * response. Rejects where its events could not be stored.
   */
  async recorded(): Promise<RecordedEnd | null> {
    return (await this.#stored) ? this.#end : null;
  }

  protected takeOther(): void {}

  protected take(frames: readonly EventFrame[]): void {
    const events: LoggedEvent[] = [];
    for (const frame of frames) {
      const data = eventDataOf(frame);
      const event = data === null || this.#end !== null ? null : eventOf(data, this.#promised);
      if (event === null || ACCEPTED_EVENTS.includes(event.type)) continue;
      const status = responseEndAfter(event.type);
      if (status === undefined) events.push(event);
      else this.#end = { status, response: objectOf(event.rest.response), event };
    }
    if (events.length > 0) this.#store(events);
  }

  #store(events: readonly LoggedEvent[]): void {
    const { id, log } = this.#recorded;
    if (log === null) return;
    this.#untaken += 1;
    this.#stored = this.#stored.then((isOurs) => isOurs && log.append(id, events));
    // Where they are not stored, nobody takes what is generated from then on.
    this.#stored.then(
      (isOurs) => {
        this.#untaken -= 1;
        if (isOurs) this.taken();
        else this.leave();
      },
      () => this.leave(),
    );
  }
}

/** An event under the response's own id. Long numbers stay as they are. */
function eventOf(data: string, promised: JsonObject): LoggedEvent | null {
  const parsed = data === END_MARK ? null : parseBody(data);
  if (!isJsonObject(parsed) || typeof parsed.type !== 'string') return null;
  const { type, sequence_number: _, ...rest } = parsed;
  const response = objectAt(rest, 'response');
  return { type, rest: response === null ? rest : { ...rest, response: { ...response, ...promised } } };
}
