import { createParser } from 'eventsource-parser';
import { z } from 'zod';
import type { Exchange } from './exchange.ts';
import {
  codeOf,
  connectionFailure,
  parseJson,
  type Reading,
  readError,
  type TextProtocol,
} from './replies.ts';

interface Event {
  readonly name: string | undefined;
  readonly data: string;
  readonly json: unknown;
}

/** What the events of a stream were: its text, whether it ended as its protocol says, or with which error. */
interface ReadStream {
  text: string;
  isEnded: boolean;
  errorCode: string | null;
  problems: string[];
}

const text = z.string();
const ResponsesEvent = z.looseObject({ type: text, sequence_number: z.int(), delta: z.unknown().optional() });
const ResponsesEnd = z.looseObject({
  response: z.looseObject({
    status: text,
    error: z.unknown(),
    output: z.array(z.looseObject({ content: z.array(z.looseObject({ text: text.optional() })).optional() })),
  }),
});
const MessagesEvent = z.looseObject({
  type: text,
  index: z.int().optional(),
  delta: z.looseObject({ type: text.optional(), text: text.optional() }).optional(),
});
const Chunk = z.looseObject({
  id: text,
  object: z.literal('chat.completion.chunk'),
  choices: z.array(
    z.looseObject({ delta: z.looseObject({ content: text.nullish() }), finish_reason: text.nullish() }),
  ),
});

function takeResponses(read: ReadStream, event: Event, index: number): void {
  if (event.data === '[DONE]') return;
  const parsed = ResponsesEvent.safeParse(event.json);
  if (!parsed.success) return void read.problems.push(`malformed event: ${event.data.slice(0, 200)}`);
  const { type, sequence_number: number, delta } = parsed.data;
  if (event.name !== type) read.problems.push(`event ${event.name} of type ${type}`);
  if (number !== index) read.problems.push(`sequence number ${number} of event ${index}`);
  if (type === 'response.output_text.delta') read.text += String(delta);
  if (type === 'error') read.errorCode = String(parsed.data.code ?? 'error');
  if (!['response.completed', 'response.failed', 'response.incomplete'].includes(type)) return;
  const end = ResponsesEnd.safeParse(event.json);
  if (!end.success) return void read.problems.push(`malformed end: ${event.data.slice(0, 300)}`);
  if (type !== 'response.completed') {
    read.errorCode = codeOf(end.data.response);
    return;
  }
  read.isEnded = true;
  const whole = end.data.response.output
    .flatMap(({ content = [] }) => content.map((part) => part.text ?? ''))
    .join('');
  if (whole !== read.text) read.problems.push('the last event has another text than the deltas');
}

function takeMessages(read: ReadStream, event: Event, index: number): void {
  const parsed = MessagesEvent.safeParse(event.json);
  if (!parsed.success) return void read.problems.push(`malformed event: ${event.data.slice(0, 200)}`);
  const { type, delta } = parsed.data;
  if (event.name !== type) read.problems.push(`event ${event.name} of type ${type}`);
  if (index === 0 && type !== 'message_start' && type !== 'error') read.problems.push(`begins with ${type}`);
  if (type === 'content_block_delta') read.text += delta?.text ?? '';
  if (type === 'error') read.errorCode = codeOf(event.json);
  if (type === 'message_stop') read.isEnded = true;
}

function takeChat(read: ReadStream, event: Event): void {
  if (event.data === '[DONE]') {
    read.isEnded = read.errorCode === null;
    return;
  }
  const code = codeOf(event.json);
  if (code !== 'none') {
    read.errorCode = code;
    return;
  }
  const parsed = Chunk.safeParse(event.json);
  if (!parsed.success) return void read.problems.push(`malformed chunk: ${event.data.slice(0, 200)}`);
  for (const { delta } of parsed.data.choices) read.text += delta.content ?? '';
}

/** What may come after the event that ends a stream: the mark of its end, and the response that an error event was about. */
const MAY_FOLLOW = /^(?:\[DONE\]$|\{"type":"response\.failed")/;

const TAKE = { responses: takeResponses, messages: takeMessages, chat: takeChat } as const;

/** The events of a body, and whether it ended within one. */
export function eventsOf(body: Buffer): { events: Event[]; rest: string } {
  const events: Event[] = [];
  const whole = body.toString('utf8');
  const parser = createParser({
    onEvent: ({ event, data }) => events.push({ name: event, data, json: parseJson(data) }),
  });
  parser.feed(whole);
  return { events, rest: whole === '' || /\r?\n\r?\n$/.test(whole) ? '' : whole.slice(-100) };
}

/** Reads a stream. What was given before a failure stays in `text`. */
export function readStream(reply: Exchange, protocol: TextProtocol): Reading {
  const lost = connectionFailure(reply);
  if (lost !== null && reply.status !== 200) return lost;
  if (reply.status !== 200) return readError(reply);
  if (!(reply.headers['content-type'] ?? '').startsWith('text/event-stream'))
    return { text: null, failure: null, problems: [`no event stream: ${reply.headers['content-type']}`] };
  const { events, rest } = eventsOf(reply.body);
  const read: ReadStream = { text: '', isEnded: false, errorCode: null, problems: [] };
  // Pings break a silence, also before the first event; clients skip them.
  const told = events.filter(({ name }) => name !== 'ping');
  for (const [index, event] of told.entries()) {
    if ((read.isEnded || read.errorCode !== null) && !MAY_FOLLOW.test(event.data))
      read.problems.push(`an event after the end: ${event.data.slice(0, 100)}`);
    TAKE[protocol](read, event, index);
  }
  const { text: given, problems } = read;
  if (lost !== null) return { ...lost, text: given, problems: [...lost.problems, ...problems] };
  if (rest !== '') problems.push(`ends within an event: ${rest}`);
  if (read.isEnded && read.errorCode === null) return { text: given, failure: null, problems };
  if (read.errorCode === null) problems.push('the stream ends without its end and without an error');
  return { text: given, failure: { where: 'stream', status: 200, code: read.errorCode ?? 'none' }, problems };
}
