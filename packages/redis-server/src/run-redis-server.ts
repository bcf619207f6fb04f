import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { endWithStarter } from './end-with-starter.ts';
import { freePort } from './free-port.ts';

/** Redis cannot be installed or run here. The message is one sentence for the person at the terminal. */
export class RedisServerError extends Error {
  override readonly name = 'RedisServerError';
}

export interface RedisServerOptions {
  /** The program, from `ensureRedisServer`. */
  readonly command: string;
  /** The folder for its files; made if missing. */
  readonly folder: string;
  /** Required from clients; written to a file that only this user can read, never to the command line. */
  readonly password?: string;
  /** On 127.0.0.1; a free one if left out. */
  readonly port?: number;
  /** `append-only`: data survives a restart. `none`: nothing is written. */
  readonly durability: 'append-only' | 'none';
  /** It watches others: `redis-server --sentinel`, which keeps what it learns in its configuration file. */
  readonly isSentinel?: boolean;
  /** Further lines of its configuration. */
  readonly lines?: readonly string[];
}

export interface RedisServer {
  /** `redis://…`, with the password. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Resolves with how it ended, in words, when the process has ended. */
  readonly ended: Promise<string>;
  /** Sends a signal: SIGSTOP and SIGCONT to freeze it, SIGKILL to crash it. */
  kill(signal: NodeJS.Signals): void;
  /** Ends it in order (append-only: with everything on disk) and waits until it has ended. */
  stop(): Promise<void>;
}

const ATTEMPTS = 5;
const STOP_TIMEOUT_MS = 20_000;
/** A large append-only file takes its time to load. */
const START_TIMEOUT_MS = 120_000;

/**
 * Starts a server on 127.0.0.1 and waits until it answers. It runs in a process group of its own, and ends with this process.
 * @throws RedisServerError with the server's last output.
 */
export async function runRedisServer(options: RedisServerOptions): Promise<RedisServer> {
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort());
    const started = await start(options, port);
    if ('server' in started) return started.server;
    const portLost = options.port === undefined && /already in use/i.test(started.output);
    if (portLost && attempt < ATTEMPTS) continue;
    const reason = started.output.trim().split('\n').slice(-3).join(' / ');
    throw new RedisServerError(`Redis (${options.command}) did not start in ${options.folder}: ${reason}`);
  }
}

async function start(
  options: RedisServerOptions,
  port: number,
): Promise<{ server: RedisServer } | { output: string }> {
  const configFile = join(options.folder, 'redis.conf');
  await rm(configFile, { force: true });
  await writeFile(configFile, configText(options, port), { mode: 0o600 });
  const args = options.isSentinel === true ? [configFile, '--sentinel'] : [configFile];
  const child = spawn(options.command, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(signal ? `signal ${signal}` : `exit code ${code}`));
  });
  const release = child.pid === undefined ? () => undefined : endWithStarter(child.pid, 'TERM');
  void ended.then(release);

  const outcome = await readiness(child);
  if (outcome !== 'ready' || child.pid === undefined) {
    child.kill('SIGKILL');
    await ended;
    return { output: outcome };
  }
  const credentials = options.password === undefined ? '' : `:${encodeURIComponent(options.password)}@`;
  return {
    server: {
      url: `redis://${credentials}127.0.0.1:${port}`,
      port,
      pid: child.pid,
      ended,
      kill: (signal) => child.kill(signal),
      stop: () => stop(child, ended),
    },
  };
}

const ofServer = (durability: RedisServerOptions['durability']): readonly string[] => [
  'save ""',
  `appendonly ${durability === 'append-only' ? 'yes' : 'no'}`,
  'maxmemory-policy noeviction',
];

function configText(options: RedisServerOptions, port: number): string {
  const { folder, password, durability, isSentinel = false, lines: further = [] } = options;
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    `dir ${JSON.stringify(folder)}`,
    'daemonize no',
    ...(isSentinel ? [] : ofServer(durability)),
    ...(password === undefined ? [] : [`requirepass ${JSON.stringify(password)}`]),
    ...further,
  ];
  return `${lines.join('\n')}\n`;
}

/** `ready`, or the server's output before it ended. Its output is read on, so that the pipe never fills. */
async function readiness(child: ChildProcess): Promise<string> {
  let output = '';
  return await new Promise<string>((resolve) => {
    const timer = setTimeout(
      () => resolve(`no answer within ${START_TIMEOUT_MS} ms; ${output}`),
      START_TIMEOUT_MS,
    );
    const finish = (result: string) => {
      clearTimeout(timer);
      resolve(result);
    };
    const take = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-4000);
      if (/Ready to accept connections|Sentinel ID is/.test(output)) finish('ready');
    };
    child.stdout?.on('data', take);
    child.stderr?.on('data', take);
    child.once('error', (error) => finish(error.message));
    child.once('close', () => finish(output));
  });
}

async function stop(child: ChildProcess, ended: Promise<string>): Promise<void> {
  // A frozen process takes no SIGTERM.
  child.kill('SIGCONT');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
}
