import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { waitFor } from './wait-for.ts';

const isListening = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });

test('a PostgreSQL ends when its starter is killed outright', async () => {
  const module = join(import.meta.dirname, 'start-postgres.ts');
  const script = `import { startPostgres } from ${JSON.stringify(module)};
    const { port } = await startPostgres();
    console.log(port);
    process.kill(process.pid, 'SIGKILL');`;
  const starter = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output] = await Promise.all([text(starter.stdout), once(starter, 'exit')]);
  expect(output).toMatch(/^\d+\n$/);
  await waitFor(async () => !(await isListening(Number(output))));
});
