import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';

/** Interim answers but for 101 (RFC 9110, 15.2), and the first byte of each. */
const INTERIM = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r]/;
const FIRST_BYTE = 'H'.charCodeAt(0);
const STATUS_LINE_BYTES = 16;
const HEAD_END = '\r\n\r\n';

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
  socket.read = (sizeBytes?: number) => {
    let chunk: unknown = read(sizeBytes);
    while (Buffer.isBuffer(chunk) && chunk[0] === FIRST_BYTE) {
      const end = INTERIM.test(chunk.toString('latin1', 0, STATUS_LINE_BYTES)) ? chunk.indexOf(HEAD_END) : -1;
      if (end === -1) break;
      const rest: Buffer = chunk.subarray(end + HEAD_END.length);
      chunk = rest.length > 0 ? rest : read(sizeBytes);
    }
    return chunk;
  };
}
