import { createServer } from 'node:net';

/** Below the ranges from which Linux (32768) and macOS (49152) take ports for outgoing connections. */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;
const ATTEMPTS = 200;

/**
 * A port on 127.0.0.1 that nothing listens on, for a process that needs its port beforehand. It is random, from a range
 * that the system never assigns by itself, so that it is still free a moment later. Prefer port 0 if that is possible.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    if (await isFreePort(port)) return port;
  }
  throw new Error(`no free port between ${FIRST_PORT} and ${LAST_PORT}`);
}

/** Whether this process could listen there now. */
export function isFreePort(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
