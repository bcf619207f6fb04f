import { KEY } from './run-edge.ts';

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
