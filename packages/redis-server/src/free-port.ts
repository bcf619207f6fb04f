import { createServer } from 'node:net';

/** Below the ranges from which Linux (32768) and macOS (49152) take ports for outgoing connections. */
const FIRST_PORT = 20_000;
/** A process takes its ports from one slice of the range, by its id: processes that start together do not choose the same. */
const SLICES = 60;
const SLICE_PORTS = 200;

let next = Math.floor(Math.random() * SLICE_PORTS);

/**
 * A port on 127.0.0.1 that nothing listens on, for a process that needs its port beforehand. The system never assigns it by
 * itself, and this process does not choose it again soon, so that it is still free a moment later. Prefer port 0 if that is possible.
 */
export async function freePort(): Promise<number> {
  const first = FIRST_PORT + (process.pid % SLICES) * SLICE_PORTS;
  for (let attempt = 0; attempt < SLICE_PORTS; attempt++) {
    const port = first + next;
    next = (next + 1) % SLICE_PORTS;
    if (await isFreePort(port)) return port;
  }
  throw new Error(`no free port between ${first} and ${first + SLICE_PORTS - 1}`);
}

/** Whether this process could listen there now. */
export function isFreePort(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
