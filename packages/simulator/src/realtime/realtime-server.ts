import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Ids, Provider } from '../provider.ts';
import type {
  RealtimeBehaviour,
  ResponseScript,
  ServedResponse,
  SessionScript,
  SimulatedRealtime,
  SimulatedSession,
} from './realtime-script.ts';
import { SimulatedConversation } from './realtime-session.ts';

const PATH = /^(?:\/openai)?\/v1\/realtime$/;
const INTERNAL_ERROR = 1011;

interface RealtimeServer extends SimulatedRealtime {
  /** Cuts every session. */
  close(): void;
  clear(): void;
}

/** Takes the realtime sessions of a simulated provider. */
export function serveRealtime(
  server: Server,
  provider: Pick<Provider, 'ids' | 'apiKeys'>,
  {
    records,
    behaviour = {},
  }: { readonly records: boolean; readonly behaviour?: RealtimeBehaviour | undefined },
): RealtimeServer {
  const sessions: SimulatedSession[] = [];
  const open = new Set<WebSocket>();
  const sessionScripts: SessionScript[] = [];
  const responseScripts: ResponseScript[] = [];
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    const url = new URL(request.url ?? '/', 'http://simulator');
    const script = sessionScripts.shift() ?? behaviour.session?.();
    const refusal = script?.refuse ?? refusalOf(request, url, provider);
    if (refusal !== undefined) return refuse(socket, refusal);
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      open.add(webSocket);
      webSocket.once('close', () => open.delete(webSocket));
      const session = begin(webSocket, request, {
        ...{ ids: provider.ids, script, model: url.searchParams.get('model') ?? '' },
        nextScript: (asked) => responseScripts.shift() ?? behaviour.response?.(asked),
        onResponse: behaviour.onResponse ?? (() => undefined),
      });
      behaviour.onSession?.(session.closed);
      if (records) sessions.push(session);
    });
  });

  return {
    sessions,
    scriptSession: (script) => void sessionScripts.push(script),
    scriptResponse: (script) => void responseScripts.push(script),
    close: () => {
      for (const webSocket of open) webSocket.terminate();
    },
    clear: () => {
      sessions.length = 0;
      sessionScripts.length = 0;
      responseScripts.length = 0;
    },
  };
}

type Refusal = NonNullable<SessionScript['refuse']>;

const refusal = (status: number, code: string | null, message: string): Refusal => ({
  status,
  body: { error: { message, type: 'invalid_request_error', param: null, code } },
});

function refusalOf(
  { headers }: IncomingMessage,
  url: URL,
  { apiKeys }: Pick<Provider, 'apiKeys'>,
): Refusal | undefined {
  if (!PATH.test(url.pathname)) return refusal(404, null, `Invalid URL (GET ${url.pathname})`);
  const key = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? String(headers['api-key'] ?? '');
  const isKnown = apiKeys === null ? !key.startsWith('sk-invalid') : apiKeys.includes(key);
  if (key === '' || !isKnown) return refusal(401, 'invalid_api_key', 'Incorrect API key provided.');
  const model = url.searchParams.get('model') ?? '';
  if (model === '') return refusal(400, 'missing_model', 'You must provide a model parameter.');
  return undefined;
}

function refuse(socket: Duplex, { status, body }: Refusal): void {
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status} Refused\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
  );
}

interface Begun {
  readonly ids: Ids;
  readonly model: string;
  readonly script: SessionScript | undefined;
  readonly nextScript: (asked: string) => ResponseScript | undefined;
  readonly onResponse: (served: ServedResponse) => void;
}

function begin(
  webSocket: WebSocket,
  { url = '', headers }: IncomingMessage,
  { ids, model, script, nextScript, onResponse }: Begun,
): SimulatedSession {
  const events: Readonly<Record<string, unknown>>[] = [];
  const send = (event: object | string) =>
    webSocket.send(typeof event === 'string' ? event : JSON.stringify(event));
  const cut = () => webSocket.terminate();
  const conversation = new SimulatedConversation({ ids, model, send, cut, nextScript, onResponse });
  webSocket.on('error', () => undefined);
  webSocket.once('close', () => conversation.lost());
  webSocket.on('message', (data) => {
    const event = JSON.parse(String(data));
    events.push(event);
    conversation.take(event);
  });
  const first = async () => {
    await script?.gate;
    if (script?.first === undefined) return conversation.begin();
    if (script.first !== 'close') send(script.first);
    webSocket.close(INTERNAL_ERROR);
  };
  void first();
  return {
    url,
    headers,
    events,
    closed: new Promise((resolve) => void webSocket.once('close', resolve)),
    get untakenBytes() {
      return webSocket.bufferedAmount;
    },
    send,
    respond: () => conversation.respond(),
    close: (code) => webSocket.close(code),
    cut,
  };
}
