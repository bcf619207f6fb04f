import { connect, type Socket } from 'node:net';
import { waitFor } from '@gateway/testkit/wait-for';
import { KEY } from './run-edge.ts';

/** Bytes to and from a port, as they are. */
export interface RawConnection {
  readonly socket: Socket;
  /** Everything that has come. */
  readonly received: string;
  /** Resolves when this text has come. */
  until(text: string): Promise<void>;
  readonly closed: Promise<void>;
}

export function rawConnection(socket: Socket): RawConnection {
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return {
    socket,
    get received() {
      return received;
    },
    until: async (text) => {
      await waitFor(() => received.includes(text), { what: `${JSON.stringify(text)} to come` });
    },
    closed,
  };
}

export function openRaw(port: number, text: string): RawConnection {
  const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'));
  return rawConnection(socket);
}

const HEADERS: Readonly<Record<string, string>> = {
  host: 'x',
  authorization: `Bearer ${KEY}`,
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** The bytes that request a WebSocket. A header that is `undefined` is left out. */
export function handshake(path: string, headers: Readonly<Record<string, string | undefined>> = {}): string {
  const sent = Object.entries({ ...HEADERS, ...headers }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}`],
  );
  return [`GET ${path} HTTP/1.1`, ...sent, '', ''].join('\r\n');
}
