import { EventSourceParserStream } from 'eventsource-parser/stream';

export interface SseEvent {
  /** The `id:` line. */
  readonly id: string | undefined;
  /** The `event:` line; undefined where there was none. */
  readonly event: string | undefined;
  /** The `data:` lines, joined. */
  readonly data: string;
  /** `data` parsed; undefined where it is not JSON, such as `[DONE]`. */
  readonly json: unknown;
}

/**
 * Reads an event stream to its end. Rejects where the connection breaks, or with the body's text where it is not an event
 * stream.
 */
export async function collectSse(response: Response): Promise<SseEvent[]> {
  const events: SseEvent[] = [];
  for await (const event of readSse(response)) events.push(event);
  return events;
}

/** The events one by one, as they arrive. Leaving the loop early closes the connection. */
export async function* readSse(response: Response): AsyncGenerator<SseEvent> {
  const type = response.headers.get('content-type') ?? '';
  if (!type.startsWith('text/event-stream') || response.body === null)
    throw new Error(`not an event stream: ${response.status} ${type} ${await response.text()}`);
  const events = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  for await (const { id, event, data } of events) yield { id, event, data, json: parseJson(data) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
