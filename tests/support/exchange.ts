import { connect } from 'node:net';

/** One reply as it came over the connection. */
export interface Exchanged {
  readonly status: string;
  /** Names in lower case, in the order of the alphabet. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

/** Sends bytes as they are on a connection of their own, and reads until the gateway closes it. */
export function exchange(origin: string, text: string | Buffer): Promise<Exchanged> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(text));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.once('error', reject);
    socket.once('close', () => resolve(parse(Buffer.concat(chunks).toString('latin1'))));
  });
}

function parse(text: string): Exchanged {
  const [head = '', ...rest] = text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '').split('\r\n\r\n');
  const [status = '', ...lines] = head.split('\r\n');
  const headers = lines.map((line) => {
    const colon = line.indexOf(': ');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)] as const;
  });
  return {
    status,
    headers: headers.toSorted(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0)),
    body: unchunked(headers, rest.join('\r\n\r\n')),
  };
}

/** A body that came in chunks, put together: where they are cut is up to the network. */
function unchunked(headers: Exchanged['headers'], body: string): string {
  if (!headers.some(([name, value]) => name === 'transfer-encoding' && value === 'chunked')) return body;
  let whole = '';
  for (let at = 0; at < body.length; ) {
    const lineEnd = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.slice(at, lineEnd), 16);
    if (lineEnd === -1 || Number.isNaN(size)) return `${whole} (broken off)`;
    if (size === 0) return whole;
    whole += body.slice(lineEnd + 2, lineEnd + 2 + size);
    at = lineEnd + 2 + size + 2;
  }
  return `${whole} (broken off)`;
}
