import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { startRedis } from './start-redis.ts';

const ping = async (port: number): Promise<string> => {
  const socket = connect(port, '127.0.0.1');
  socket.end('PING\r\nQUIT\r\n');
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
};

test('two servers run side by side, and one can come back on its port', async () => {
  const [one, two] = await Promise.all([startRedis(), startRedis()]);
  expect(one.port).not.toBe(two.port);
  expect(await ping(two.port)).toContain('PONG');
  one.kill('SIGKILL');
  await one.ended;
  const again = await startRedis({ port: one.port });
  expect(await ping(one.port)).toContain('PONG');
  await Promise.all([one, two, again].map((server) => server.close()));
});
