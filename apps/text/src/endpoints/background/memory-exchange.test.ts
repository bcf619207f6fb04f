import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { openMemoryExchange } from './memory-exchange.ts';

const open = () =>
  openMemoryExchange({ method: 'POST', path: '/v1/responses', headers: { 'user-agent': 'test' } });

test('the request arrives as it was sent, and what is written to its response is the reply', async () => {
  const { incoming, response, reply } = await open();
  expect(incoming).toMatchObject({ method: 'POST', url: '/v1/responses' });
  expect(incoming.headers['user-agent']).toBe('test');
  response.writeHead(200, { 'content-type': 'text/plain' });
  response.write('one ');
  response.end('two');
  const received = await reply;
  expect(received).toMatchObject({ statusCode: 200, headers: { 'content-type': 'text/plain' } });
  expect(await text(received)).toBe('one two');
});

test('leaving closes the response before its end, as a caller who leaves does', async () => {
  const { response, reply, leave } = await open();
  response.writeHead(200).write('the beginning');
  await reply;
  const closed = once(response, 'close');
  leave();
  await closed;
  expect(response.writableFinished).toBe(false);
});

test('leaving before anything is written ends the waiting for a reply', async () => {
  const { reply, leave } = await open();
  leave();
  await expect(reply).rejects.toThrow();
});

test('nothing is written faster than it is read', async () => {
  const { response, reply } = await open();
  response.writeHead(200);
  response.flushHeaders();
  const received = await reply;
  let count = 0;
  while (response.write('x'.repeat(10_000))) count += 1;
  expect(count).toBeLessThan(100);
  const drained = once(response, 'drain');
  received.resume();
  await drained;
});
