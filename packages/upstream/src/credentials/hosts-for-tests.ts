import type { ServerResponse } from 'node:http';
import { createServer as createProxy } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { makeAuthority } from '@gateway/testkit/make-authority';
import { onTestFinished } from 'vitest';
import type { ReceivedRequest } from '../provider-for-tests.ts';

type Answer = (response: ServerResponse, request: ReceivedRequest) => unknown;

export interface HostsForTests {
  /** Members of a channel that reaches them. */
  readonly settings: string;
  readonly requests: Readonly<Record<string, readonly ReceivedRequest[]>>;
  /** What the proxy was asked for, in its order. */
  readonly tunnels: readonly string[];
  /** The connections to hosts that are open now. */
  readonly open: () => number;
}

/** Hosts of the world outside, by their true names and with TLS, which only a proxy knows the way to. */
export async function startHosts(answers: Readonly<Record<string, Answer>>): Promise<HostsForTests> {
  const names = Object.keys(answers);
  const authority = await makeAuthority(names);
  const requests: Record<string, ReceivedRequest[]> = Object.fromEntries(names.map((name) => [name, []]));
  const server = createServer(authority, async (request, response) => {
    const { method = '', url = '', headers } = request;
    const host = headers.host ?? '';
    const received = { method, url, headers, body: await text(request).catch(() => '') };
    requests[host]?.push(received);
    await answers[host]?.(response, received);
  });
  let connections = 0;
  server.on('connection', (socket) => {
    connections += 1;
    socket.once('close', () => {
      connections -= 1;
    });
  });
  const tunnels: string[] = [];
  const proxy = createProxy();
  proxy.on('connect', (request, socket, head) => {
    tunnels.push(request.url ?? '');
    const beyond = connect((server.address() as AddressInfo).port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      beyond.write(head);
      beyond.pipe(socket).pipe(beyond);
    });
    beyond.on('error', () => socket.destroy());
    beyond.on('close', () => socket.destroy());
    socket.on('error', () => beyond.destroy());
    socket.on('close', () => beyond.destroy());
  });
  for (const one of [server, proxy])
    await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    proxy.closeAllConnections();
    server.close();
    proxy.close();
    await authority[Symbol.asyncDispose]();
  });
  const { port } = proxy.address() as AddressInfo;
  const settings = `proxy: "http://127.0.0.1:${port}", caFile: "${authority.file}"`;
  return { settings, requests, tunnels, open: () => connections };
}
