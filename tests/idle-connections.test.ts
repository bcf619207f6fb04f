import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { isLongRun } from '@gateway/testkit/is-long-run';
import { expect, onTestFinished, test } from 'vitest';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Clients keep connections that they hardly use; a gateway has thousands of them at a time. */

const COUNT = isLongRun ? 10_000 : 1000;
/** How many are opened at a time: a system holds only so many that were not accepted yet. */
const AT_ONCE = isLongRun ? 500 : 100;
/** By which `EDGE_MAX_CONNECTIONS` follows the heap. */
const SUPPOSED_BYTES = 64 * 1024;

const requestBy = (key: string) =>
  `GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;

/** Sends a request on a connection, and resolves to the status of the whole answer. */
async function ask(socket: Socket, key: string): Promise<number> {
  socket.write(requestBy(key));
  let text = '';
  for (;;) {
    const [chunk] = await once(socket, 'data');
    text += chunk;
    const length = /content-length: (\d+)/i.exec(text)?.[1];
    const bodyAt = text.indexOf('\r\n\r\n') + 4;
    if (bodyAt > 3 && length !== undefined && text.length >= bodyAt + Number(length))
      return Number(text.slice(9, 12));
  }
}

async function residentBytes({ stack }: Gateway): Promise<number> {
  const page = await (await fetch(`${stack.edgeMetricsUrl}/metrics`)).text();
  return Number(/^process_resident_memory_bytes\{[^}]*\} (\S+)$/m.exec(page)?.[1]);
}

test('thousands of idle connections stay open and usable, take little memory each, and do not delay a stop', async () => {
  const gateway = await startGateway({ services: ['edge', 'text'] });
  onTestFinished(() => gateway.close());
  const { port, hostname } = new URL(gateway.url);
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  const open = async () => {
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    await once(socket, 'connect');
    return ask(socket, gateway.key);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, open));
  const before = await residentBytes(gateway);
  for (let n = AT_ONCE; n < COUNT; n += AT_ONCE)
    expect(await Promise.all(Array.from({ length: AT_ONCE }, open))).toEqual(Array(AT_ONCE).fill(200));
  const grown = (await residentBytes(gateway)) - before;
  if (isLongRun) process.stdout.write(`${COUNT} idle connections: ${grown / COUNT} bytes each\n`);
  expect(grown / COUNT).toBeLessThan(SUPPOSED_BYTES);

  expect(sockets.filter(({ closed }) => closed)).toEqual([]);
  for (let n = 0; n < COUNT; n += COUNT / 20) {
    const socket = sockets[n];
    expect(socket && (await ask(socket, gateway.key))).toBe(200);
  }
  const closed = sockets.map((socket) => once(socket.resume(), 'close'));
  const { ended } = gateway.stack.process('gateway');
  await gateway.stack.stop();
  expect(await ended).toBe('exit code 0');
  await Promise.all(closed);
}, 300_000);
