import { spawn } from 'node:child_process';

/** How a program ended. `code` is null where it was killed or could not be started (`missing`: not on the PATH). */
export interface ProgramResult {
  readonly code: number | null;
  readonly missing: boolean;
  /** Standard output and error, together, in bytes received order. */
  readonly output: string;
}

const MAX_OUTPUT_LENGTH = 100_000;

/** Runs a program from the PATH to its end, without input. Never rejects. */
export function runProgram(
  command: string,
  args: readonly string[],
  timeoutMs: number,
): Promise<ProgramResult> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: timeoutMs });
    let output = '';
    const take = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-MAX_OUTPUT_LENGTH);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.on('error', (error) => resolve({ code: null, missing: true, output: error.message }));
    child.on('close', (code) => resolve({ code, missing: false, output }));
  });
}
