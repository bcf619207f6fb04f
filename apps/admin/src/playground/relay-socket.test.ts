import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { newKeyRecord } from '@gateway/metering/keys/key-record';
import { openRequest } from '@gateway/service-kit/request/request-context';
import { connectSocket } from '@gateway/testkit/connect-socket';
import { expect, onTestFinished, test } from 'vitest';
import type { Principal } from '../sessions/authenticate.ts';
import { ALL } from '../sessions/scope.ts';
import { createSocketRelay, serveSockets } from './relay-socket.ts';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const KEY = newKeyRecord('key_one', { name: 'one', team: 'support' }, 'hash', 0);
const SESSION: Principal['session'] = {
  ...{ id: 'ses_1', name: 'ann', method: 'password', role: 'team-lead', scope: ALL, keyHash: null },
  ...{ createdAtMs: 0, expiresAtMs: 1e15, lastUsedAtMs: 0, address: null, userAgent: null },
};
const ANN: Principal = { role: 'team-lead', scope: ALL, session: SESSION };

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

/** An edge that lets every session in, and how they end there. */
async function startEdge() {
  const ends: Promise<unknown>[] = [];
  const server = createServer().on('upgrade', ({ headers }, socket) => {
    const accept = createHash('sha1').update(`${headers['sec-websocket-key']}${GUID}`).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
    );
    ends.push(once(socket.on('error', () => undefined).resume(), 'end').then(() => socket.destroy()));
  });
  return { url: await listening(server), ends };
}

/** A person's session in the playground. */
async function startSession({ authenticate }: { readonly authenticate: () => Promise<Principal> }) {
  const edge = await startEdge();
  const stopping = new AbortController();
  const relay = createSocketRelay({
    ...{ edgeUrl: edge.url, authenticate, stopping: stopping.signal, checkEveryMs: 20 },
    keys: { getKey: async () => KEY },
    clientSecrets: { seal: () => 'ek_sealed' },
    now: Date.now,
  });
  const { context } = openRequest('/admin/v1/playground', {
    ...{ requestId: 'req_one', identity: null, deadline: stopping.signal },
  });
  const sockets = serveSockets(
    (request, response) => void relay(request, response, { principal: ANN, context }),
  );
  const server = createServer(sockets.options);
  sockets.configure(server);
  const url = await listening(server);
  const socket = await connectSocket(`${url}/admin/v1/playground/v1/realtime?model=m&key=key_one`, {
    origin: url,
  });
  return { socket, edge, stopping };
}

test.for<[what: string, then: () => Principal]>([
  [
    'has signed out',
    () => {
      throw new GatewayError('missing_key', 'Sign in.');
    },
  ],
  ['may no longer use the key', () => ({ ...ANN, scope: { kind: 'teams', teams: ['other'] } })],
])('a session ends at both sides when its person %s', async ([, then]) => {
  let hasChanged = false;
  const { socket, edge } = await startSession({ authenticate: async () => (hasChanged ? then() : ANN) });
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(socket.webSocket.readyState).toBe(socket.webSocket.OPEN);
  hasChanged = true;
  await socket.closed;
  await Promise.all(edge.ends);
});

test('a session goes on while nobody can say whether its person is signed in, and ends with the process', async () => {
  const { socket, edge, stopping } = await startSession({
    authenticate: async () => {
      throw new GatewayError('service_unavailable', 'Redis is away.');
    },
  });
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(socket.webSocket.readyState).toBe(socket.webSocket.OPEN);
  stopping.abort();
  await socket.closed;
  await Promise.all(edge.ends);
});
