import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Environment } from '@gateway/contracts/environment';

const MAX_OUTPUT_CHARS = 2_000;

interface BuildOptions {
  /** The folder of the checkout. */
  readonly root: string;
  readonly env: Environment;
  readonly signal: AbortSignal;
  /** Gets a sentence if it failed. */
  readonly report: (line: string) => void;
}

/**
 * Builds the console's pages, unless turbo has the result already; the admin service serves them as soon as they are there. It runs
 * beside the gateway, which does not wait for it, and with a lower priority.
 */
export function buildConsole({ root, env, signal, report }: BuildOptions): void {
  const turbo = join(root, 'node_modules/.bin/turbo');
  const args = ['-n', '10', turbo, 'run', 'build', '--filter=@gateway/console', '--output-logs=errors-only'];
  const child = spawn('nice', args, {
    cwd: root,
    signal,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env, TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' },
  });
  let output = '';
  const keep = (text: Buffer) => {
    output = `${output}${text}`.slice(-MAX_OUTPUT_CHARS);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const failed = (reason: string): void => {
    if (!signal.aborted)
      report(
        `The console could not be built (${reason}); everything else works. Run npm run console:build to see why.\n${output}`,
      );
  };
  child.on('error', (error) => failed(error.message));
  child.on('close', (code) => {
    if (code !== 0) failed(`exit code ${code}`);
  });
}
