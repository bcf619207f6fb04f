import { spawn } from 'node:child_process';

/**
 * Ends the process `pid` with SIGTERM when this process is gone, whatever ended it, SIGKILL included: a shell waits for the
 * end of a pipe that only we hold open. For programs that cannot notice by themselves.
 * @returns a function that calls the watch off, to be called when `pid` has ended.
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
