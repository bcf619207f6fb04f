import { connect, type Socket } from 'node:net';

export interface RawReply {
  /** 0 where the connection ended without a reply. */
  readonly status: number;
  readonly body: string;
  /** Still open, unless the edge has closed it. */
  readonly socket: Socket;
}

/**
 * Sends bytes as they are and resolves to the first reply, as soon as that is complete. The connection stays open, so
 * that the caller's leaving ends no request.
 */
export function rawRequest(port: number, text: string): Promise<RawReply> {
  const isHead = text.startsWith('HEAD ');
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'));
    let received = '';
    const finish = (status: number, body: string) => resolve({ status, body, socket });
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      received += chunk;
      const headEnd = received.indexOf('\r\n\r\n');
      if (headEnd === -1) return;
      const head = received.slice(0, headEnd);
      const body = received.slice(headEnd + 4);
      const length = isHead ? 0 : Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
      if (body.length >= length) finish(Number(head.split(' ')[1]), body.slice(0, length));
    });
    socket.on('error', () => undefined);
    socket.once('close', () => finish(0, received));
  });
}

/** Sends bytes as they are and returns all that comes back until the connection ends. */
export function rawExchange(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let received = '';
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      received += chunk;
    });
    socket.once('end', () => resolve(received));
    socket.once('error', (error) => (received === '' ? reject(error) : resolve(received)));
  });
}
