import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { createTextFrames } from './text-frames.ts';

test('a client reads the messages that were sent, of every form of length, and those that ws sends between them', async () => {
  const sizes = [0, 1, 125, 126, 127, 65_535, 65_536, 70_000];
  const messages = sizes.map((size) => 'x'.repeat(size));
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
  onTestFinished(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  server.on('connection', (webSocket, { socket }) => {
    socket.write(createTextFrames(messages.map((text, at) => (at % 2 === 0 ? text : Buffer.from(text)))));
    webSocket.send('of ws');
    socket.write(createTextFrames(['é and €']));
    webSocket.close(1000);
  });
  const client = new WebSocket(`ws://127.0.0.1:${port}`);
  const got: string[] = [];
  client.on('message', (data, isBinary) => got.push(isBinary ? 'binary' : String(data)));
  const [code] = await once(client, 'close');
  expect(got).toEqual([...messages, 'of ws', 'é and €']);
  expect(code).toBe(1000);
});
