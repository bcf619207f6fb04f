import { once } from 'node:events';
import { connect } from 'node:net';
import { everyNth } from '@gateway/testkit/is-long-run';
import { startFlood } from '@gateway/testkit/start-flood';
import { waitFor } from '@gateway/testkit/wait-for';
import { expect, onTestFinished, test } from 'vitest';
import { logLine } from './support/log-lines.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** A caller who stops reading holds a connection, a service and a provider: all of them are let go after a while. */

const PIECE = `data: {"id":"c","choices":[{"index":0,"delta":{"content":"${'x'.repeat(10_000)}"}}]}\n\n`;
const END = 'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
const IDLE_MS = '700';

/** A chat stream of some 40 MB from the model of this name, or the same as one JSON reply. */
async function floods() {
  const stream = await startFlood({ contentType: 'text/event-stream', piece: PIECE, count: 4000, tail: END });
  const json = await startFlood({
    contentType: 'application/json',
    head: '{"id":"c","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"',
    piece: 'x'.repeat(10_000),
    count: 2000,
    tail: '"}}]}',
  });
  onTestFinished(async () => {
    await stream[Symbol.asyncDispose]();
    await json[Symbol.asyncDispose]();
  });
  return { stream, json };
}

async function gatewayBefore(mode: 'one' | 'each', urls: { readonly stream: string; readonly json: string }) {
  const gateway = await startGateway({
    mode,
    services: ['edge', 'text'],
    env: { EDGE_REPLY_IDLE_TIMEOUT_MS: IDLE_MS },
    configuration: (origin) => `
channels:
  provider: { provider: simulator, baseUrl: "${origin}", apiKey: k }
  stream: { provider: openai-compatible, baseUrl: "${urls.stream}/v1", apiKey: k }
  json: { provider: openai-compatible, baseUrl: "${urls.json}/v1", apiKey: k }
models:
  gpt-5.2: { kind: text, routes: [{ channel: provider }] }
  stream: { kind: text, routes: [{ channel: stream }] }
  json: { kind: text, routes: [{ channel: json }] }
`,
  });
  onTestFinished(() => gateway.close());
  return gateway;
}

/** Sends a request over a connection of its own, and reads nothing of the reply. */
function standingReader(gateway: Gateway, body: object, requestId: string) {
  const text = JSON.stringify(body);
  const { port, hostname } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  socket.pause();
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${gateway.key}\r\nX-Request-Id: ${requestId}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  return socket;
}

const MESSAGES = [{ role: 'user', content: 'x' }];

const MODES = ['one', 'each'] as const;
/** In a short run with two processes in a row, as either holds the other back. */
test.for(everyNth(MODES, MODES.length, 1))(
  'with a process for %s: who reads nothing of a stream or of a large reply is let go, who waits for more is not',
  async (mode) => {
    const { stream, json } = await floods();
    const gateway = await gatewayBefore(mode, { stream: stream.url, json: json.url });
    // It has read all that there is: the provider is silent.
    const resume = Promise.withResolvers<void>();
    const sse = Buffer.from(PIECE + END);
    gateway.simulator.script('/v1/chat/completions', { sse, stallAfter: 1, resume: resume.promise });
    const patient = await gateway.fetch('/v1/chat/completions', {
      json: { model: 'gpt-5.2', messages: MESSAGES, stream: true },
    });

    const readers = [
      standingReader(
        gateway,
        { model: 'stream', messages: MESSAGES, stream: true },
        `request-stream-${mode}`,
      ),
      standingReader(gateway, { model: 'json', messages: MESSAGES }, `request-json-${mode}`),
    ];
    for (const kind of ['stream', 'json'])
      expect(await logLine(gateway, 'edge', `request-${kind}-${mode}`)).toMatchObject({
        outcome: 'left',
        slowReader: 'idle',
      });
    // The provider is let go as well.
    await waitFor(() => !stream.isHeldUp && !json.isHeldUp);
    for (const socket of readers) {
      socket.resume();
      if (!socket.closed) await once(socket, 'close');
    }

    resume.resolve();
    // Silence that a busy machine makes long is broken by comments.
    expect((await patient.text()).replaceAll(/^:.*\n\n/gm, '')).toBe(sse.toString());
  },
);
