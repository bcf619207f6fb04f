import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, createServer, get, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';

const ENTRY = new URL('../fixtures/small-service.ts', import.meta.url).pathname;
const SECRET = 'a secret of more than thirty-two characters';

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

function start(env: Record<string, string>) {
  const child = fork(ENTRY, { env, silent: true });
  children.push(child);
  let output = '';
  child.stdout?.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    output += chunk;
  });
  // Not the child's own 'close': it does not come after a disconnect from this side.
  const quiet = [child.stdout, child.stderr].map((stream) => stream && once(stream, 'close'));
  const exited = Promise.all([once(child, 'exit'), ...quiet]).then(([[code]]) => ({ code, output }));
  return { child, exited };
}

async function ready(env: Record<string, string> = {}) {
  const { child, exited } = start({ TEST_SECRET: SECRET, ...env });
  const [message] = await once(child, 'message');
  return { child, exited, url: `http://127.0.0.1:${message.port}` };
}

/** Resolves when new connections are refused. */
async function refuses(url: string): Promise<void> {
  const send = () =>
    fetch(url).then(
      () => 'served',
      () => 'refused',
    );
  await expect.poll(send, { timeout: 20_000 }).toBe('refused');
}

/** Sends requests one after the other on one connection. */
function sendOnOneConnection(url: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return (path: string) =>
    new Promise<IncomingMessage>((resolve, reject) =>
      get(url + path, { agent }, resolve).on('error', reject),
    );
}

test('SIGTERM lets a running request finish, refuses new ones, closes the last opened first and exits 0', async () => {
  const { child, exited, url } = await ready();
  const held = await fetch(`${url}/held`);
  child.kill('SIGTERM');
  await refuses(url);
  child.send('release');
  expect(await held.text()).toBe('begun ended');
  const { code, output } = await exited;
  expect(code).toBe(0);
  expect(output.indexOf('closed second')).toBeGreaterThan(-1);
  expect(output.indexOf('closed first')).toBeGreaterThan(output.indexOf('closed second'));
});

test('a connection that was opened in advance and never used does not delay the end', async () => {
  const { child, exited, url } = await ready({ DRAIN_TIMEOUT_MS: '3600000' });
  const unused = connect(Number(new URL(url).port), '127.0.0.1');
  await once(unused, 'connect');
  await (await fetch(url)).text();
  child.kill('SIGTERM');
  expect((await exited).code).toBe(0);
  unused.destroy();
});

test('a request that still runs at the drain deadline is aborted, and may still write its end', async () => {
  const { child, exited, url } = await ready({ DRAIN_TIMEOUT_MS: '50' });
  const endless = await fetch(`${url}/endless`);
  child.kill('SIGTERM');
  expect(await endless.text()).toBe('begun cut ended');
  expect((await exited).code).toBe(0);
});

test('a second signal ends the process at once', async () => {
  const { child, exited, url } = await ready();
  const held = await fetch(`${url}/held`);
  child.kill('SIGTERM');
  await refuses(url);
  child.kill('SIGTERM');
  await expect(held.text()).rejects.toThrow();
  expect((await exited).code).toBe(1);
});

test('a process serves on for the drain delay, and ends each connection with its next reply', async () => {
  const { child, url, exited } = await ready({ DRAIN_DELAY_MS: '3600000' });
  expect((await fetch(url)).headers.get('connection')).toBe('keep-alive');
  child.kill('SIGTERM');
  const send = async () => (await fetch(url)).headers.get('connection');
  await expect.poll(send, { timeout: 20_000 }).toBe('close');
  expect(await send()).toBe('close');
  child.kill('SIGTERM');
  expect((await exited).code).toBe(1);
});

test('a reply that began before the process stops promises its connection, on which one more request is served', async () => {
  const { child, url } = await ready();
  const send = sendOnOneConnection(url);
  const held = await send('/held');
  child.kill('SIGTERM');
  await refuses(url);
  // The agent sends it as soon as its one connection is free.
  const again = send('/again');
  child.send('release');
  expect(await text(held)).toBe('begun ended');
  expect(await text(await again)).toBe('begun ended');
});

test('a request that arrives while a stopping process is too busy to read it is served', async () => {
  const { child, exited, url } = await ready();
  const send = sendOnOneConnection(url);
  const held = await send('/held');
  child.kill('SIGTERM');
  await refuses(url);
  child.send('release');
  expect(await text(held)).toBe('begun ended');
  child.send('be busy');
  await once(child, 'message');
  expect(await text(await send('/again'))).toBe('begun ended');
  expect((await exited).code).toBe(0);
});

test('a client that waits for 100 Continue gets it, and its answer', async () => {
  const { url } = await ready();
  const request = httpRequest(url, { method: 'POST', headers: { expect: '100-continue' } });
  const replying = once(request, 'response');
  request.flushHeaders();
  await once(request, 'continue');
  request.end('body');
  const [reply] = await replying;
  expect(await text(reply)).toBe('begun ended');
});

test('a body without an end that nobody reads ends its connection, by its bytes', async () => {
  const { url } = await ready();
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const closed = new Promise((resolve) => socket.on('error', () => undefined).once('close', resolve));
  socket.resume();
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n');
  const piece = Buffer.alloc(1024 * 1024);
  const limit = 200 * piece.length;
  const send = () => {
    while (!socket.destroyed && socket.bytesWritten < limit && socket.write(piece));
    if (socket.bytesWritten >= limit) socket.destroy();
  };
  socket.on('drain', send);
  send();
  await closed;
  expect(socket.bytesWritten).toBeLessThan(limit / 2);
});

test('a process whose parent is gone stops', async () => {
  const { child, exited } = await ready();
  child.disconnect();
  expect((await exited).code).toBe(0);
});

test('a process whose log is no longer read ends all the same', async () => {
  const { child } = await ready();
  child.stdout?.destroy();
  child.stderr?.destroy();
  child.kill('SIGUSR2');
  const [code] = await once(child, 'exit');
  expect(code).toBe(1);
});

test('settings that are missing or wrong are all named, without their values, before anything starts', async () => {
  const { exited } = start({ TEST_SECRET: 'short-secret', TEST_PORT: 'eighty' });
  const { code, output } = await exited;
  expect(code).toBe(1);
  expect(output).toBe(
    'The environment is not usable:\n  TEST_PORT: must be a whole number\n  TEST_SECRET: must have at least 32 characters\n',
  );
});

test('a taken port ends the start with its number and the setting to change, and closes what was opened', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const address = other.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const { code, output } = await start({ TEST_SECRET: SECRET, TEST_PORT: String(port) }).exited;
  other.close();
  expect(code).toBe(1);
  expect(output).toContain(
    `Port ${port} on 127.0.0.1 is taken. Stop what uses it, or set TEST_PORT to another port.`,
  );
  expect(output).toContain('closed first');
});

test('requests are parsed strictly even when Node is started with its lenient parser', async () => {
  const { child, exited, url } = await ready({ NODE_OPTIONS: '--insecure-http-parser' });
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(
    'POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  );
  const [reply] = await once(socket, 'data');
  expect(String(reply)).toMatch(/^HTTP\/1\.1 400 /);
  socket.destroy();
  child.kill('SIGTERM');
  await exited;
});
