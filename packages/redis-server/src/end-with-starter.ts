import { spawn } from 'node:child_process';

/**
 * Ends the process `pid` with SIGTERM when this process has ended, also by SIGKILL: a shell waits for the end of a pipe
 * that only this process holds open. For programs that cannot notice the end of their starter.
 * @returns a function that stops the watch, to be called when `pid` has ended.
 */
export function endWithStarter(pid: number): () => void {
  const watch = spawn('sh', ['-c', 'read -r _; kill -TERM "$1"', 'sh', String(pid)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watch.on('error', () => undefined);
  watch.unref();
  return () => watch.kill('SIGKILL');
}
