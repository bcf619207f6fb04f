import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { JobKind } from '@gateway/contracts/jobs';
import { createBell } from '@gateway/jobs/events/follow-log';
import type { JobQueue } from '@gateway/jobs/queue/job-queue';
import type { FoundJob } from '@gateway/jobs/records/find-job';
import { hasEnded } from '@gateway/jobs/records/job-record';
import type { Handler, PathParams } from '@gateway/service-kit/request/handler';
import { contextOf } from '@gateway/service-kit/request/request-context';
import { publicJob } from './public-job.ts';
import { isHead } from './stream-head.ts';

/** Makes the event that a caller gets out of what a job has emitted; in pieces, since it may hold a whole image. */
export type ExpandEvent = (frame: string) => AsyncIterable<string>;

interface EventsOptions<Kinds extends JobKind> {
  readonly queue: JobQueue<Kinds>;
  readonly expandEvent?: ExpandEvent;
  /** @throws {GatewayError} `object_not_found` */
  readonly find: (request: IncomingMessage, params: PathParams) => Promise<FoundJob>;
}

const KEEP_ALIVE_MS = 4000;
/** Then the stream ends without the job's end, and its reader comes again. */
const LIFETIME_MS = 20 * 60_000;
/** Streams that one process serves at a time. */
const MAX_STREAMS = 1000;
/** After an event's id: nothing more comes. */
const END = '.end';
const POSITION = /^(\d{1,9})(?:\.end)?$/;
const BLANK_LINE = /(?:\r?\n)+$/;

/**
 * `GET …/jobs/{id}/events`: a job's status, at first and after every change, and what it emits. `Last-Event-ID` goes on
 * after an event; a reader that has had all of them gets 204, by which an `EventSource` stops.
 */
export function jobEventsHandler<Kinds extends JobKind>(options: EventsOptions<Kinds>): Handler {
  let streams = 0;
  return async (request, response, params) => {
    const find = () => options.find(request, params);
    const record = await find();
    const last = String(request.headers['last-event-id'] ?? '');
    const { requestId } = contextOf(request);
    const head = { 'cache-control': 'no-store', 'x-request-id': requestId, 'request-id': requestId };
    if (hasEnded(record) && last.endsWith(END)) {
      response.writeHead(204, head).end();
      return;
    }
    if (streams >= MAX_STREAMS) throw tooMany();
    streams += 1;
    try {
      response.writeHead(200, {
        ...head,
        'content-type': 'text/event-stream; charset=utf-8',
        'x-gateway-job': record.id,
      });
      response.flushHeaders();
      await follow(options, { record, find, position: positionIn(last), request, response });
      response.end();
    } finally {
      streams -= 1;
    }
  };
}

interface Following {
  readonly record: FoundJob;
  /** As it is now. */
  readonly find: () => Promise<FoundJob>;
  /** The number of the last text that its reader has. */
  readonly position: number;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

async function follow<Kinds extends JobKind>(
  { queue, expandEvent = asItIs }: EventsOptions<Kinds>,
  { record: first, find, position, request, response }: Following,
): Promise<void> {
  const { signal } = contextOf(request);
  const kind = queue.kinds.find((known) => known === first.kind);
  if (kind === undefined) return;
  const bell = createBell();
  const stopping = new AbortController();
  const stop = () => {
    stopping.abort();
    bell.ring();
  };
  signal.addEventListener('abort', stop);
  const lifetime = setTimeout(stop, LIFETIME_MS);
  const watching = queue.watch(kind, first.id, bell.ring);
  const keepAlive = setInterval(() => response.write(': keep-alive\n\n'), KEEP_ALIVE_MS);
  const write = async (text: string) => {
    if (!response.write(text))
      await once(response, 'drain', { signal: stopping.signal }).catch(() => undefined);
  };
  try {
    await watching.isHeard;
    let last = position;
    let lastStatus: string | undefined;
    for (;;) {
      // The job first: what it has emitted before it ended is then there to be read.
      const record = await find();
      const isNews = record.status !== lastStatus;
      if (isNews && !hasEnded(record)) await write(await statusEvent(queue, record, last));
      lastStatus = record.status;
      for (let isFull = true; isFull; ) {
        const page = await queue.textsAfter(first.id, last);
        for (const { number, values } of page.entries) {
          const text = values.join('');
          if (isHead(text)) continue;
          if (signal.aborted) return;
          for await (const piece of expandEvent(text.replace(BLANK_LINE, ''))) await write(piece);
          await write(`id: ${number}\n\n`);
        }
        ({ last, isFull } = page);
      }
      if (hasEnded(record)) return await write(await statusEvent(queue, record, `${last}${END}`));
      await bell.next();
      if (stopping.signal.aborted) return;
    }
  } finally {
    clearInterval(keepAlive);
    clearTimeout(lifetime);
    signal.removeEventListener('abort', stop);
    watching.stop();
  }
}

/** The number of the text that a `Last-Event-ID` names; -1 for none. */
const positionIn = (lastEventId: string): number => Number(POSITION.exec(lastEventId)?.[1] ?? -1);

async function* asItIs(frame: string): AsyncGenerator<string> {
  yield `${frame}\n`;
}

async function statusEvent<Kinds extends JobKind>(
  queue: JobQueue<Kinds>,
  record: FoundJob,
  id: number | string,
): Promise<string> {
  return `event: status\ndata: ${JSON.stringify(await publicJob(queue, record))}\nid: ${id}\n\n`;
}

const tooMany = (): GatewayError =>
  new GatewayError('service_unavailable', {
    message: 'Too many jobs are being followed. Poll the job, or try again in 5s.',
    retryAfterSeconds: 5,
  });
