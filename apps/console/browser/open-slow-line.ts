import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** A phone's: 1.6 Mbit/s down and 0.75 up, 150 ms there and back. */
const BYTES_PER_MS = { down: 200, up: 94 };
const ONE_WAY_MS = 75;

export interface SlowLine {
  /** Where the server is reached over it. */
  readonly url: string;
  close(): void;
}

/**
 * A slow line to a server, as a relay that all connections share. The browser's own emulation of one now and then leaves all scripts of a
 * page without an end.
 */
export async function openSlowLine({ hostname, port }: URL): Promise<SlowLine> {
  const directions = { up: oneWay(BYTES_PER_MS.up), down: oneWay(BYTES_PER_MS.down) };
  const server = createServer((browser) => {
    const upstream = connect(Number(port), hostname);
    // Either side may leave at any time.
    pipeline(browser, directions.up(), upstream).catch(() => upstream.destroy());
    pipeline(upstream, directions.down(), browser).catch(() => browser.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port: own } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${own}`, close: () => void server.close() };
}

/** One direction of the line, for any number of connections: what each sends waits for what was sent before. */
function oneWay(bytesPerMs: number): () => Transform {
  let freeAt = 0;
  return () =>
    new Transform({
      transform(chunk: Buffer, _encoding, done) {
        const now = performance.now();
        freeAt = Math.max(now, freeAt) + chunk.length / bytesPerMs;
        setTimeout(() => this.push(chunk), freeAt - now + ONE_WAY_MS);
        setTimeout(done, freeAt - now);
      },
      flush: (done) => void setTimeout(done, ONE_WAY_MS + 1),
    });
}
