import pino, { type DestinationStream } from 'pino';

/** What has been gathered is written when it is as long as this, in characters. */
const BATCH_LENGTH = 32 * 1024;
const INTERVAL_MS = 100;
/** What sonic-boom writes at once, in bytes. */
const MAX_WRITE = 128 * 1024;

/** Where a logger writes: whole lines, each with its end. */
export interface LineGatherer extends DestinationStream {
  /** Hands over what is held; `done` is called when it has been written, or cannot be. */
  flush(done?: (error?: Error) => void): void;
  /** Writes what is held before it returns. */
  flushSync(): void;
}

/**
 * Gathers lines and writes them many at once, at the latest after 100 ms and when the process ends.
 *
 * sonic-boom can gather by itself, but counts the bytes of all that it holds again with each line (seen in 4.2): 3 µs a line
 * instead of 0.8.
 *
 * @param target file descriptor, or a file's path
 */
export function gatherLines(target: number | string): LineGatherer {
  const file = pino.destination({ dest: target, sync: false, minLength: 1, maxWrite: MAX_WRITE });
  let isClosed = false;
  file.once('close', () => {
    isClosed = true;
  });
  let text = '';
  let timer: NodeJS.Timeout | undefined;
  const take = (): string => {
    clearTimeout(timer);
    timer = undefined;
    const taken = text;
    text = '';
    return taken;
  };
  const handOver = () => {
    const batch = take();
    if (batch !== '') file.write(batch);
  };
  const flushSync = () => {
    if (!isClosed) file.flushSync();
    const rest = take();
    // The file that writes in the background would begin to write it, and not wait.
    if (rest !== '') pino.destination({ dest: target, sync: true }).write(rest);
  };
  process.once('exit', flushSync);
  return {
    write: (line) => {
      text += line;
      if (text.length >= BATCH_LENGTH) handOver();
      else timer ??= setTimeout(handOver, INTERVAL_MS).unref();
    },
    flush: (done) => {
      handOver();
      file.flush(done);
    },
    flushSync,
  };
}
