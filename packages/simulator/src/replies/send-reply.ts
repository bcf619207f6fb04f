import type { ServerResponse } from 'node:http';
import type { Directives } from '../script/directives.ts';
import { createPatience } from './patience.ts';
import { type Chunk, EVENT_STREAM, type Reply } from './reply.ts';

export interface Sending {
  readonly response: ServerResponse;
  readonly reply: Reply;
  readonly directives: Directives;
  readonly headers: Record<string, string>;
  readonly gate: Promise<void> | undefined;
  /** Ends a stall. */
  readonly resume: Promise<void> | undefined;
  /** Called just before the end of the reply is written, so that its reader finds the ledger complete. */
  readonly onComplete: () => void;
}

const GARBAGE_FRAME = 'event: message\ndata: {"broken": \n\n';
const GARBAGE_BODY = 'this is {not} of the protocol';
const HTML_BODY = '<html><body><h1>502 Bad Gateway</h1></body></html>';

/** Ends the connection, without ending the reply, when the written bytes have left this process. */
const cut = async (response: ServerResponse): Promise<void> => {
  if (!response.headersSent) response.flushHeaders();
  const { socket } = response;
  if (!socket) return;
  await new Promise<void>((resolve) => {
    socket.once('close', resolve);
    socket.write('', () => resolve());
  });
  socket.destroy();
};

const halves = (body: Chunk): Chunk[] => {
  const bytes = Buffer.from(body);
  const middle = Math.floor(bytes.length / 2);
  return [bytes.subarray(0, middle), bytes.subarray(middle)];
};

const sendWhole = ({ response, reply, headers, onComplete }: Sending, body: Chunk): void => {
  response.writeHead(reply.status, { ...headers, 'content-length': Buffer.byteLength(body) });
  onComplete();
  response.end(body);
};

/** Sends the replacement of the whole reply, if a directive has one. */
const sendReplacement = ({ response, reply, directives, headers }: Sending): boolean => {
  const send = (status: number, contentType: string, body: string): true => {
    response.writeHead(status, { ...headers, 'content-type': contentType });
    response.end(body);
    return true;
  };
  if (directives.html) return send(502, 'text/html', HTML_BODY);
  if (directives.empty) return send(200, 'application/json', '');
  if (directives.garbageAfter !== undefined && !reply.isStream)
    return send(200, 'application/json', GARBAGE_BODY);
  return false;
};

/** Joins so many chunks into one. */
function* inBursts(chunks: Iterable<Chunk>, size: number): Iterable<Chunk> {
  if (size <= 1) return yield* chunks;
  let held: Buffer[] = [];
  for (const chunk of chunks) {
    held.push(Buffer.from(chunk));
    if (held.length < size) continue;
    yield Buffer.concat(held);
    held = [];
  }
  if (held.length > 0) yield Buffer.concat(held);
}

type Break = 'stall' | 'cut' | 'end' | 'error-event' | 'garbage';

/** Finds the break after so many events. A whole body breaks at its middle only. */
const breakPoints = (directives: Directives, isStream: boolean): ((sent: number) => Break | null) => {
  const { stallAfter, cutAfter, endAfter, errorEventAfter, garbageAfter } = directives;
  const breaks = new Map<number, Break>();
  const put = (after: number | undefined, what: Break): void => {
    if (after !== undefined) breaks.set(isStream ? after : Math.min(after, 1), what);
  };
  put(endAfter, 'end');
  put(garbageAfter, 'garbage');
  put(errorEventAfter, 'error-event');
  put(cutAfter, 'cut');
  put(stallAfter, 'stall');
  return (sent) => breaks.get(sent) ?? null;
};

/** Binary messages are cut anywhere, as networks cut them. */
function writeInPieces(response: ServerResponse, chunk: Chunk): boolean {
  const bytes = Buffer.from(chunk);
  const at = 1 + ((bytes.length * 7) % 13);
  response.write(bytes.subarray(0, at));
  return response.write(bytes.subarray(at));
}

/** Writes the chunks at their pace, up to their break. */
const sendChunks = async (sending: Sending, chunks: Iterable<Chunk>): Promise<void> => {
  const { response, reply, directives } = sending;
  const patience = createPatience(response);
  const breakAt = breakPoints(directives, reply.isStream);
  if (directives.slowFirstEventMs) {
    response.flushHeaders();
    if (!(await patience.wait(directives.slowFirstEventMs))) return;
  }
  /** False if the reply is over. */
  const passes = async (sent: number): Promise<boolean> => {
    const what = breakAt(sent);
    if (what === 'stall') {
      response.flushHeaders();
      return patience.wait(sending.resume);
    }
    if (what === 'cut') {
      await cut(response);
      return false;
    }
    if (what === 'error-event') for (const frame of reply.errorFrames?.() ?? []) response.write(frame);
    if (what === 'garbage') response.write(GARBAGE_FRAME);
    response.end();
    return false;
  };

  const isBinary = reply.contentType === EVENT_STREAM;
  const iterator = inBursts(chunks, directives.burst ?? 1)[Symbol.iterator]();
  let takesMore = true;
  for (let sent = 0; ; sent += 1) {
    // Before the next chunk is made: an error event reports what has been sent, not what would have been.
    if (breakAt(sent) && !(await passes(sent))) return;
    const next = iterator.next();
    if (next.done) break;
    if (sent > 0 && directives.paceMs && !(await patience.wait(directives.paceMs))) return;
    if (!takesMore && !(await patience.drained())) return;
    takesMore = isBinary ? writeInPieces(response, next.value) : response.write(next.value);
  }
  sending.onComplete();
  response.end();
};

/** Sends a reply with the faults and the pace of its directives. Resolves when nothing more will be written. */
export const sendReply = async (sending: Sending): Promise<void> => {
  const { response, reply, directives, headers, gate } = sending;
  if (directives.closeBeforeResponse) {
    response.socket?.destroy();
    return;
  }
  if (directives.interim) {
    response.writeEarlyHints({ link: '</style.css>; rel=preload' });
    response.writeProcessing();
  }
  if (gate ?? directives.slowFirstByteMs) {
    const patience = createPatience(response);
    if (gate && !(await patience.wait(gate))) return;
    if (directives.slowFirstByteMs && !(await patience.wait(directives.slowFirstByteMs))) return;
  }
  if (sendReplacement(sending)) return;

  if (reply.isStream) {
    response.writeHead(reply.status, headers);
    await sendChunks(sending, reply.chunks);
    return;
  }
  const [body = ''] = reply.chunks;
  if (directives.stallAfter === undefined && directives.cutAfter === undefined) {
    sendWhole(sending, body);
    return;
  }
  response.writeHead(reply.status, { ...headers, 'content-length': Buffer.byteLength(body) });
  await sendChunks(sending, halves(body));
};
