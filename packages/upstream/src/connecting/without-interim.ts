import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';

/** Interim answers but for 101 (RFC 9110, 15.2), and the one that undici cannot take. */
const INTERIM = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r]/;
const CONTINUE = 'HTTP/1.1 100 ';
const HEAD_END = '\r\n\r\n';
const MAX_HEAD_BYTES = 16 * 1024;

/** Connections that a request was sent on and that have not brought a byte of its reply. A body may look like an interim answer. */
const awaiting = new WeakSet();

subscribe('undici:client:sendHeaders', (message) => {
  if (typeof message !== 'object' || message === null || !('socket' in message)) return;
  if (typeof message.socket === 'object' && message.socket !== null) awaiting.add(message.socket);
});

/**
 * What a connection reads, without interim answers. undici reports those of any status but 100: if a server sends `100 Continue`
 * that nobody waits for, it ends the connection.
 */
export const withoutInterim =
  (connect: buildConnector.connector): buildConnector.connector =>
  (options, callback) =>
    connect(options, (...result) => {
      const [error, socket] = result;
      if (error === null) leaveOutInterim(socket);
      callback(...result);
    });

function leaveOutInterim(socket: Socket): void {
  const read = socket.read.bind(socket);
  const beginning = new Beginning();
  socket.read = (sizeBytes?: number) => {
    let chunk: unknown = read(sizeBytes);
    while (Buffer.isBuffer(chunk) && awaiting.has(socket)) {
      const reply = beginning.push(chunk);
      if (reply !== null) {
        awaiting.delete(socket);
        return reply;
      }
      chunk = read(sizeBytes);
    }
    return chunk;
  };
}

/** What arrives before a reply, in pieces of any size. */
class Beginning {
  #incomplete: Buffer | null = null;

  /** The first bytes of the reply. Null: there are none yet. */
  push(chunk: Buffer): Buffer | null {
    let bytes = this.#incomplete === null ? chunk : Buffer.concat([this.#incomplete, chunk]);
    this.#incomplete = null;
    while (bytes.length > 0 && mayBeInterim(bytes)) {
      const end = bytes.indexOf(HEAD_END);
      if (end === -1) {
        if (bytes.length > MAX_HEAD_BYTES) return bytes;
        this.#incomplete = bytes;
        return null;
      }
      bytes = bytes.subarray(end + HEAD_END.length);
    }
    return bytes.length > 0 ? bytes : null;
  }
}

/** Whether bytes begin like an interim answer, or may when more of them have come. */
const mayBeInterim = (bytes: Buffer): boolean => {
  const start = bytes.toString('latin1', 0, CONTINUE.length);
  return INTERIM.test(start + CONTINUE.slice(start.length));
};
