import { type ChildProcess, fork } from 'node:child_process';
import type { Environment } from '@gateway/contracts/environment';
import { z } from 'zod';
import { StartError } from '../start-error.ts';
import { readLines } from './read-lines.ts';
import type { Running } from './supervise.ts';

export interface ChildOptions {
  readonly name: string;
  /** Absolute path of the file to run. */
  readonly entry: string;
  readonly env: Environment;
  /** Options of Node's command line. */
  readonly nodeOptions: readonly string[];
  readonly workingFolder: string;
  /** Gets whole lines as they come, often several at once. */
  readonly onLines: (lines: readonly string[]) => void;
}

export interface RunningChild extends Running {
  /** The port that it listens on; null for a process that does not listen. */
  readonly port: number | null;
}

/** The message that a process sends over IPC once it serves. */
const ReadyMessage = z.object({ type: z.literal('ready'), port: z.number().int().optional() });

const READY_TIMEOUT_MS = 60_000;
const MAX_ERROR_TEXT = 4_000;

/**
 * Starts one Node process and waits until it reports that it serves. It has a process group of its own: a terminal's
 * Ctrl-C does not reach it. It notices the end of its starter by the end of the IPC channel.
 * @throws StartError with its own reason if it ends first, takes longer than a minute, or `signal` is aborted; it has ended then.
 */
export async function startChild(options: ChildOptions, signal: AbortSignal): Promise<RunningChild> {
  const child = fork(options.entry, [], {
    cwd: options.workingFolder,
    env: { ...options.env },
    execArgv: [...options.nodeOptions],
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let isStarting = true;
  let errorText = '';
  let lastError = '';
  readLines(child.stdout, (lines) => {
    if (isStarting) for (const line of lines) lastError = reasonOf(line) ?? lastError;
    options.onLines(lines);
  });
  readLines(child.stderr, (lines) => {
    if (isStarting) errorText = `${errorText}${lines.join('\n')}\n`.slice(-MAX_ERROR_TEXT);
    options.onLines(lines);
  });
  const ended = endOf(child);
  const timeout = AbortSignal.timeout(READY_TIMEOUT_MS);
  const port = await Promise.race([readyPort(child), ended.then(() => undefined), aborted(signal, timeout)]);
  if (port !== undefined) {
    isStarting = false;
    return { pid: child.pid ?? 0, port, ended, kill: (name) => killChild(child, name) };
  }
  killChild(child, 'SIGKILL');
  const how = await ended;
  const reason = signal.aborted
    ? 'startup was aborted'
    : timeout.aborted
      ? `it was not ready within ${READY_TIMEOUT_MS / 1000} s`
      : errorText.trim() || lastError || how;
  throw new StartError(`${options.name} did not start: ${reason}`);
}

/** The port that it serves on, or null if it serves on none. */
function readyPort(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => {
    child.on('message', (message) => {
      const ready = ReadyMessage.safeParse(message);
      if (ready.success) resolve(ready.data.port ?? null);
    });
  });
}

/** Resolves when it has ended and all its output has been read. Its own children end with it. */
function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', () => killGroup(child));
    child.once('close', (code, signal) => resolve(signal ? `signal ${signal}` : `exit code ${code}`));
  });
}

function aborted(...signals: AbortSignal[]): Promise<undefined> {
  const any = AbortSignal.any(signals);
  return new Promise((resolve) => {
    if (any.aborted) resolve(undefined);
    else any.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}

function killChild(child: ChildProcess, signal: NodeJS.Signals): void {
  if (signal === 'SIGKILL') killGroup(child);
  child.kill(signal);
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The group has no process left.
  }
}

/** pino's numbers: 50 is an error, 60 is fatal. */
const ErrorLine = z.looseObject({
  level: z.number().min(50),
  msg: z.string().default(''),
  err: z.looseObject({ message: z.string() }).optional(),
});

/** What a log line gives as the reason of a failure; null if it is not an error's line. */
function reasonOf(line: string): string | null {
  if (!line.startsWith('{')) return null;
  try {
    const { data } = ErrorLine.safeParse(JSON.parse(line));
    return data ? [data.msg, data.err?.message].filter(Boolean).join(': ') : null;
  } catch {
    return null;
  }
}
