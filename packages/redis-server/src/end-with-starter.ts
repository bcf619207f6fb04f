import { spawn } from 'node:child_process';

/**
 * Sends the process `pid` a signal when this process has ended, also by SIGKILL: a shell waits for the end of a pipe that only this
 * process holds open. For programs that cannot notice the end of their starter. One that is frozen goes on, and ends.
 * @returns a function that stops the watch, to be called when `pid` has ended.
 */
export function endWithStarter(pid: number, signal: 'TERM' | 'QUIT'): () => void {
  const script = 'read -r _; kill -s "$1" "$2"; kill -s CONT "$2"';
  const watch = spawn('sh', ['-c', script, 'sh', signal, String(pid)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watch.on('error', () => undefined);
  watch.unref();
  return () => watch.kill('SIGKILL');
}
