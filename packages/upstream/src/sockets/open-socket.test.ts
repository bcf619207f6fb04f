import { startSimulator } from '@gateway/simulator/start-simulator';
import { waitFor } from '@gateway/testkit/wait-for';
import { expect, onTestFinished, test } from 'vitest';
import { parseConfiguration } from '../configuration/parse-configuration.ts';
import { createUpstream } from '../upstream.ts';
import type { SocketSink } from './open-socket.ts';

async function start() {
  const simulator = await startSimulator();
  onTestFinished(() => simulator.close());
  const file = `
channels: { one: { provider: simulator, baseUrl: "${simulator.url}", apiKey: sk-0123456789 } }
models: { voice: { kind: realtime, routes: [{ channel: one }] } }
`;
  const upstream = createUpstream({ configuration: parseConfiguration(file, 'gateway.yaml', {}) });
  onTestFinished(() => upstream.close());
  const model = upstream.resolveModel('voice');
  if (model === null) throw new Error('no model');
  const open = () =>
    upstream.openSocket({
      candidates: upstream.candidates({ model, protocol: 'realtime' }),
      query: () => 'model=voice',
      headers: {},
      dialect: 'openai',
      maxMessageBytes: 1_000_000,
      readFirst: () => 'session',
      signal: new AbortController().signal,
    });
  return { simulator, upstream, open };
}

/** Keeps what it takes. */
function createSink() {
  const taken: string[] = [];
  const { promise: closed, resolve } = Promise.withResolvers<number>();
  const sink: SocketSink = {
    onMessage: (data) => void taken.push(data.toString()),
    onDrain: () => undefined,
    onClose: resolve,
  };
  return { sink, taken, closed };
}

test('a message that was taken is kept no longer', async () => {
  const { simulator, open } = await start();
  const socket = await open();
  const [first, second] = [createSink(), createSink()];
  socket.start(first.sink);
  socket.resume();
  for (let count = 0; count < 3; count += 1) simulator.realtime.sessions[0]?.send({ type: 'one', count });
  await waitFor(() => first.taken.length === 4);
  expect(first.taken[0]).toContain('session.created');
  socket.start(second.sink);
  expect(second.taken).toEqual([]);
  socket.close();
  await second.closed;
});

const ENDS: readonly [string, number, number][] = [
  ['for what a caller sent shows nothing about the provider', 1009, 0],
  ['with an error of its own counts against it', 1011, 1],
];
test.for(ENDS)('a connection that is closed %s', async ([, code, resting]) => {
  const { simulator, upstream, open } = await start();
  for (let count = 0; count < 5; count += 1) {
    const socket = await open();
    const { sink, closed } = createSink();
    socket.start(sink);
    socket.resume();
    simulator.realtime.sessions[count]?.close(code);
    expect(await closed).toBe(code);
  }
  expect(upstream.health.resting()).toHaveLength(resting);
});
