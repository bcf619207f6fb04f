import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import type { ContentLog } from '@gateway/model-service/content-log/content-log';
import { connectSocket } from '@gateway/testkit/connect-socket';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import type { SocketSink, UpstreamSocket } from '@gateway/upstream/sockets/open-socket';
import { createUpstream } from '@gateway/upstream/upstream';
import { onTestFinished } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { CallerSocket } from '../realtime/caller-socket.ts';
import { RealtimeSession } from '../realtime/realtime-session.ts';
import type { ResponseAccount, ResponseAccounts } from '../realtime/response-accounts.ts';
import { SessionContent } from '../realtime/session-content.ts';
import { createSessionFacts } from '../realtime/session-facts.ts';

const FILE = `
channels: { one: { provider: openai, apiKey: sk-0123456789 } }
models:
  voice: { kind: realtime, routes: [{ channel: one, model: gpt-realtime }] }
  scribe: { kind: transcription, routes: [{ channel: one }] }
`;
const IDENTITY: Identity = {
  keyId: 'key_1',
  keyName: 'one',
  team: null,
  models: null,
  endpoints: null,
  accounts: [],
};

export const ACCOUNT: ResponseAccount = {
  eventId: null,
  openedAtMs: 0,
  settle: () => undefined,
  release: () => undefined,
};
export const ACCOUNTS: Omit<ResponseAccounts, 'transcript' | 'sound'> = {
  reserve: async () => ACCOUNT,
  unreserved: () => ACCOUNT,
  charged: async () => undefined,
  checkKey: async () => IDENTITY,
};

const NO_LOG: ContentLog = { begin: () => null, sweep: async () => 0, close: async () => undefined };

/** What either side has not taken, beyond which there is no room for it. */
export const MAX_HELD_BYTES = 300_000;

interface SessionChanges extends Partial<Pick<ResponseAccounts, 'reserve' | 'charged'>> {
  readonly takesAll?: boolean;
}

/** A session between a caller over a real connection and a provider that does what the test has it do. */
export async function startSession({ takesAll = false, ...changed }: SessionChanges = {}) {
  const upstream = createUpstream({ configuration: parseConfiguration(FILE, 'gateway.yaml', {}) });
  onTestFinished(() => upstream.close());
  const model = upstream.resolveModel('voice');
  const [candidate] = model === null ? [] : upstream.candidates({ model, protocol: 'realtime' });
  if (candidate === undefined) throw new Error('no candidate');
  const sent: string[] = [];
  const closes: boolean[] = [];
  const charged: string[] = [];
  const accounts: ResponseAccounts = {
    ...ACCOUNTS,
    ...changed,
    transcript: async ({ inputTokens, outputTokens }, transcriber, isGuessed) => {
      const used = `${inputTokens} and ${outputTokens}${isGuessed ? ', guessed' : ''}`;
      charged.push(`${transcriber?.model.name}: ${used}, ${closes.length} closed`);
      return null;
    },
    sound: async (heardMs) => {
      charged.push(`${heardMs} ms of sound`);
      return heardMs > 80_000 ? new GatewayError('rate_limited', 'Too much sound.') : null;
    },
  };
  let sink: SocketSink | undefined;
  const socket: UpstreamSocket = {
    ...{ candidate, attempts: [] },
    get bufferedBytes() {
      return takesAll ? 0 : sent.join('').length;
    },
    start: (started) => {
      sink = started;
    },
    send: (data) => void sent.push(data.toString()),
    pause: () => undefined,
    resume: () => undefined,
    close: (isFailure = false) => void closes.push(isFailure),
  };

  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  onTestFinished(() => server.close());
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  const accepting = once(server, 'connection') as Promise<[WebSocket, { readonly socket: CallerConnection }]>;
  const client = await connectSocket(`http://127.0.0.1:${address.port}`, {});
  onTestFinished(() => client.webSocket.terminate());
  const [webSocket, request] = await accepting;

  const content = new SessionContent({
    ...{ log: NO_LOG, isOn: () => false, headers: {}, model: 'voice', channel: 'one', settleMs: 1000 },
  });
  const { promise: over, resolve: onOver } = Promise.withResolvers<string>();
  const session: RealtimeSession = new RealtimeSession({
    ...{ socket, accounts, content, facts: createSessionFacts(null), upstream, modelName: 'voice' },
    ...{ settings: null, maxJsonDepth: 64, settleMs: 1000, onOver },
    caller: new CallerSocket(webSocket, {
      socket: request.socket,
      memory: {
        hold: (kind, bytes) => {
          if (kind !== 'arriving' && bytes > MAX_HELD_BYTES) throw new GatewayError('overloaded', 'Full.');
        },
        remember: () => null,
        end: () => undefined,
      },
      silenceMs: 60_000,
      now: () => performance.now(),
      onMessage: (data, isBinary) => session.fromCaller(data, isBinary),
      onDrain: () => session.callerDrained(),
      onFlood: () => session.end('flood', new GatewayError('overloaded', 'Too much.')),
      onClose: (isLost) => session.callerClosed(isLost),
    }),
  });
  session.start();
  const provider = (event: object) => sink?.onMessage(Buffer.from(JSON.stringify(event)), false);
  return { session, client, callerEnd: webSocket, sent, closes, charged, over, provider };
}
type CallerConnection = ConstructorParameters<typeof CallerSocket>[1]['socket'];
