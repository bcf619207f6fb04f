import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { Call } from './call.ts';
import { createEventLog, type EventLog } from './event-log.ts';
import { createLive, type Live } from './live.ts';
import { RelayError, relay, type Sender } from './relay.ts';

/** A request that was sent, and what came of it so far. */
export interface Exchange<Answer> {
  /** `stopped` by the person. */
  readonly state: 'running' | 'done' | 'stopped' | 'failed';
  readonly answer: Answer;
  readonly requestId: string | null;
  /** Since it was sent, in milliseconds; null: not yet. */
  readonly firstOutputMs: number | null;
  readonly totalMs: number | null;
  readonly error: { readonly message: string; readonly status: number; readonly code: string | null } | null;
}

export interface RunningExchange<Answer> {
  readonly call: Call;
  readonly live: Live<Exchange<Answer>>;
  readonly log: EventLog;
  /** When everything has come, or nothing will come any more. */
  readonly ended: Promise<Exchange<Answer>>;
  stop(): void;
}

/** What a reader of an answer is given. */
export interface AnswerReader<Answer> {
  readonly sender: Sender;
  /** Shows what there is of the answer; `isOutput`: it has something that the model made. */
  show(answer: Answer, isOutput: boolean): void;
  /** Notes something that came. */
  note(name: string, data: string): void;
  /** Notes the events of a stream and gives them on. */
  events(response: Response): AsyncIterable<StreamEvent>;
}

export interface StreamEvent {
  readonly name: string;
  readonly data: string;
}

export interface ExchangeOptions<Answer> {
  readonly call: Call;
  readonly keyId: string;
  /** What is shown of the answer before it comes. */
  readonly first: Answer;
  /** @throws {RelayError} for an error within the answer */
  readonly read: (response: Response, reader: AnswerReader<Answer>) => Promise<void>;
}

/** Longer events are no stream of the gateway's. */
const MAX_EVENT_CHARACTERS = 64 * 1024 * 1024;

/** Sends a request and follows its answer to the end. */
export function startExchange<Answer>(options: ExchangeOptions<Answer>): RunningExchange<Answer> {
  const { call, keyId, first, read } = options;
  const abort = new AbortController();
  const sender = { keyId, signal: abort.signal };
  const log = createEventLog();
  const sentAt = performance.now();
  const elapsed = (): number => performance.now() - sentAt;
  const live = createLive<Exchange<Answer>>({
    state: 'running',
    answer: first,
    requestId: null,
    firstOutputMs: null,
    totalMs: null,
    error: null,
  });
  const update = (change: Partial<Exchange<Answer>>): void => live.set({ ...live.get(), ...change });
  const note = (name: string, data: string): void => log.add({ atMs: elapsed(), name, data });

  const reader: AnswerReader<Answer> = {
    sender,
    note,
    show: (answer, isOutput) =>
      update({
        answer,
        ...(isOutput && live.get().firstOutputMs === null && { firstOutputMs: elapsed() }),
      }),
    events: async function* (response) {
      for await (const { event = '', data } of eventsOf(response)) {
        note(event, data);
        yield { name: event, data };
      }
    },
  };

  const run = async (): Promise<Exchange<Answer>> => {
    try {
      const response = await relay(call, sender);
      update({ requestId: response.headers.get('x-request-id') });
      await read(response, reader);
      update({ state: 'done' });
    } catch (error) {
      if (abort.signal.aborted) update({ state: 'stopped' });
      else update({ state: 'failed', ...failureOf(error, live.get().requestId) });
    }
    update({ totalMs: elapsed() });
    return live.get();
  };
  return { call, live, log, ended: run(), stop: () => abort.abort() };
}

async function* eventsOf(response: Response) {
  if (response.body === null) return;
  const events = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ maxBufferSize: MAX_EVENT_CHARACTERS }))
    .getReader();
  try {
    for (let next = await events.read(); !next.done; next = await events.read()) yield next.value;
  } finally {
    await events.cancel();
  }
}

function failureOf(error: unknown, requestId: string | null): Pick<Exchange<unknown>, 'error' | 'requestId'> {
  if (error instanceof RelayError) {
    const { message, status, code } = error;
    return { error: { message, status, code }, requestId: error.requestId ?? requestId };
  }
  const message = `The answer was cut off: ${error instanceof Error ? error.message : String(error)}`;
  return { error: { message, status: 0, code: null }, requestId };
}
